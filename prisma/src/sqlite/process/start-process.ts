import { type ChildProcess, fork } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { getCompileCacheDir } from 'node:module'
import path from 'node:path'
import { DatabaseError, errorCode } from '../../database-error.ts'
import { sqliteError } from '../connection/driver-adapter.ts'
import { type PlainError, PROCESS_ENDED, PROCESS_LATE, toError } from '../connection/errors.ts'
import type { Operations, Outcome, Request } from './database-process.ts'

/** A child process that uses SQLite for this process, and keeps it running only during an operation. */
export type DatabaseProcess = ReturnType<typeof startProcess>

type Result<Name extends keyof Operations> = Awaited<ReturnType<Operations[Name]>>

/** How to run an operation. */
interface RunOptions {
  /** How long to wait for the result, in milliseconds. Once an operation is late, others fail immediately. Default: for ever. */
  patience?: number
  /** Kills the process. The operation fails with the signal's reason once it has ended. */
  signal?: AbortSignal | undefined
}

/** An operation without an outcome. */
interface Pending {
  isLate: boolean
  resolve(result: unknown): void
  reject(error: Error): void
  timer: NodeJS.Timeout | undefined
}

// This file is TypeScript in development and in tests, JavaScript once it is built.
const program = new URL(`./database-process${path.extname(import.meta.filename)}`, import.meta.url)
const children = new Set<ChildProcess>()
// A long statement would not notice that this process has ended.
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})

/** What the system's loader, the C library and SQLite read. */
const NEEDED = /^(LD_|DYLD_|GLIBC_|MALLOC_|SQLITE_TMPDIR$|TE?MP)/
/** What lets Node.js load other modules, or report to the watcher of `npm run dev`. */
const OF_NODE = /^(NODE|WATCH)_/

/** Starts a process for what waits for a disk or takes long (docs/decisions/021-database-process.md). */
export function startProcess() {
  const pending = new Map<number, Pending>()
  // Nothing but the outcome of a request has its id, whatever modules of the process send.
  let lastId = randomInt(2 ** 47)
  /** Why it was killed, and why it has ended. */
  let killedFor: Error | undefined
  let endedFor: Error | undefined
  let onEnd = () => {}
  const ended = new Promise<void>((resolve) => {
    onEnd = resolve
  })

  function end(reason: Error): void {
    endedFor ??= reason
    for (const { reject, timer } of pending.values()) {
      clearTimeout(timer)
      reject(endedFor)
    }
    pending.clear()
    onEnd()
  }

  const child = startChild(end)
  child?.on('close', (code, signal) => {
    const reason = `the database process has ended (${signal ?? `exit code ${code}`}): retry`
    end(killedFor ?? sqliteError(PROCESS_ENDED, reason))
  })
  child?.on('message', (message) => {
    if (!isOutcome(message)) return
    const operation = pending.get(message.id)
    if (!operation) return
    pending.delete(message.id)
    clearTimeout(operation.timer)
    if (pending.size === 0) keepRunning('unref')
    if ('error' in message) operation.reject(toError(message.error))
    else operation.resolve(message.result)
  })
  keepRunning('unref')

  function keepRunning(change: 'ref' | 'unref'): void {
    child?.[change]()
    child?.channel?.[change]()
  }

  function isLate(): boolean {
    return [...pending.values()].some(({ isLate }) => isLate)
  }

  function send(request: Omit<Request, 'id'>, patience: number | undefined): Promise<unknown> {
    if (endedFor) throw endedFor
    if (isLate()) throw lateError()
    const id = ++lastId
    return new Promise((resolve, reject) => {
      if (pending.size === 0) keepRunning('ref')
      pending.set(id, { isLate: false, resolve, reject, timer: undefined })
      // Time begins once the request is sent, which takes a second for the largest plants. A request that cannot be sent,
      // because the process is ending or was not started, is rejected with its end.
      if (child?.connected) child.send({ id, ...request }, () => startTimer(id, patience))
    })
  }

  function startTimer(id: number, patience: number | undefined): void {
    const operation = pending.get(id)
    if (!operation || patience === undefined) return
    // If this process was busy, not the disk, the outcome has arrived and is read first.
    operation.timer = setTimeout(() => setImmediate(giveUp, id), patience).unref()
  }

  /** Rejects an operation that is late, and those behind it, which wait for it. It stays late until its outcome arrives. */
  function giveUp(id: number): void {
    const operation = pending.get(id)
    if (!operation) return
    operation.isLate = true
    // Those before it may wait longer, such as the opening after a restart.
    for (const [other, { reject }] of pending) if (other >= id) reject(lateError())
  }

  /** Kills it, and waits for its end unless its disk does not respond. What waits fails with the reason, if there is one. */
  async function kill(reason?: Error): Promise<void> {
    killedFor ??= reason
    child?.kill('SIGKILL')
    if (endedFor || isLate()) return
    keepRunning('ref')
    await ended
  }

  return {
    /** Runs an operation, after those before it. */
    async run<Name extends keyof Operations>(
      name: Name,
      args: Parameters<Operations[Name]>,
      { patience, signal }: RunOptions = {},
    ): Promise<Result<Name>> {
      signal?.throwIfAborted()
      const abort = () => void kill()
      signal?.addEventListener('abort', abort)
      try {
        return (await send({ name, args }, patience)) as Result<Name>
      } catch (error) {
        signal?.throwIfAborted()
        throw error
      } finally {
        signal?.removeEventListener('abort', abort)
      }
    },

    /** Whether it has ended, or was never started. */
    hasEnded: () => endedFor !== undefined,

    kill,
  }
}

/** Starts the program. It may fail later as well, as the system says why. */
function startChild(onFailure: (reason: Error) => void): ChildProcess | undefined {
  const fail = (error: unknown) => {
    const fix = 'check the limits of memory, processes and open files, and that Node.js can be started'
    onFailure(new DatabaseError(`a process for the database cannot be started (${errorCode(error)}): ${fix}`))
  }
  try {
    const child = fork(program, {
      cwd: import.meta.dirname,
      env: { ...neededVariables(), ...compileCache() },
      // No options of this process, such as the port of a debugger, which no signal opens either.
      execArgv: ['--disable-sigusr1'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    children.add(child)
    child.on('error', fail).on('close', () => children.delete(child))
    return child
  } catch (error) {
    fail(error)
    return undefined
  }
}

function neededVariables(): NodeJS.ProcessEnv {
  // A preloaded library, such as an allocator of memory, may read any variable.
  const isNeeded = (name: string) => (process.env['LD_PRELOAD'] ? !OF_NODE.test(name) : NEEDED.test(name))
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => isNeeded(name)))
}

/** Lets it use what this process has compiled before: from the sources, stripping their types takes most of its start. */
function compileCache(): NodeJS.ProcessEnv {
  const folder = getCompileCacheDir()
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: path.dirname(folder) }
}

function isOutcome(message: unknown): message is Outcome {
  const outcome = Object(message) as Partial<{ result: unknown; error: PlainError }>
  return 'result' in outcome || typeof outcome.error?.message === 'string'
}

/** Runs operations in a process of their own. */
export async function withProcess<Result>(run: (process: DatabaseProcess) => Promise<Result>): Promise<Result> {
  const started = startProcess()
  return run(started).finally(started.kill)
}

function lateError(): Error {
  return sqliteError(PROCESS_LATE, 'the disk of the database does not respond')
}
