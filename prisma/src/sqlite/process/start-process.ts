import { type ChildProcess, fork } from 'node:child_process'
import path from 'node:path'
import { sqliteError } from '../connection/driver-adapter.ts'
import { PROCESS_ENDED, PROCESS_LATE, toError } from '../connection/errors.ts'
import type { Operations, Outcome, Request } from './database-process.ts'

/** A process that uses SQLite for this one. It keeps this one running only while it runs an operation. */
export interface DatabaseProcess {
  /** Runs an operation, after those before it. */
  run<Name extends keyof Operations>(
    name: Name,
    args: Parameters<Operations[Name]>,
    options?: RunOptions,
  ): Promise<Result<Name>>
  hasEnded(): boolean
  /** Kills it, and waits for its end unless its disk does not respond. */
  kill(): Promise<void>
}

type Result<Name extends keyof Operations> = Awaited<ReturnType<Operations[Name]>>

/** How to run an operation. */
interface RunOptions {
  /** How long to wait for the result, in milliseconds; until it is there, those after it fail immediately. Default: for ever. */
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

/** Starts a process for what waits for a disk or takes long (docs/decisions/021-database-process.md). */
export function startProcess(): DatabaseProcess {
  const child = fork(program, {
    cwd: import.meta.dirname,
    // Not those of this process, such as the port of a debugger.
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const pending: Pending[] = []
  let hasEnded = false
  keepRunning('unref')
  children.add(child)
  const ended = new Promise<void>((resolve) => {
    const end = (reason: string) => {
      hasEnded = true
      children.delete(child)
      for (const { reject, timer } of pending.splice(0)) {
        clearTimeout(timer)
        reject(endedError(reason))
      }
      resolve()
    }
    child.once('error', ({ message }) => end(message))
    child.once('close', (code, signal) => end(signal ?? `exit code ${code}`))
  })
  child.on('message', (outcome: Outcome) => {
    const done = pending.shift()
    clearTimeout(done?.timer)
    if (pending.length === 0) keepRunning('unref')
    if ('error' in outcome) done?.reject(toError(outcome.error))
    else done?.resolve(outcome.result)
  })

  function keepRunning(change: 'ref' | 'unref'): void {
    child[change]()
    child.channel?.[change]()
  }

  function isLate(): boolean {
    return pending.some(({ isLate }) => isLate)
  }

  function send(request: Request, patience: number | undefined): Promise<unknown> {
    if (hasEnded) throw endedError('before')
    if (isLate()) throw lateError()
    return new Promise((resolve, reject) => {
      const operation: Pending = { isLate: false, resolve, reject, timer: undefined }
      if (pending.length === 0) keepRunning('ref')
      pending.push(operation)
      const expire = () => {
        const position = pending.indexOf(operation)
        operation.isLate = position >= 0
        // Those behind it wait for it too. Those before it may wait longer, such as the opening after a restart.
        if (operation.isLate) for (const { reject } of pending.slice(position)) reject(lateError())
      }
      const wait = () => {
        // Where it was this process that was busy, the outcome is read first.
        if (patience !== undefined) operation.timer = setTimeout(() => setImmediate(expire), patience).unref()
      }
      // Time begins once it is sent: the largest plants take a second. What cannot be sent, because the process is just
      // ending or was never started, is rejected with its end.
      if (child.connected) child.send(request, wait)
    })
  }

  async function kill(): Promise<void> {
    child.kill('SIGKILL')
    if (hasEnded || isLate()) return
    keepRunning('ref')
    await ended
  }

  return {
    async run<Name extends keyof Operations>(
      name: Name,
      args: Parameters<Operations[Name]>,
      options: RunOptions = {},
    ): Promise<Result<Name>> {
      const { patience, signal } = options
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
    hasEnded: () => hasEnded,
    kill,
  }
}

/** Runs operations in a process of their own. */
export async function withProcess<Result>(run: (process: DatabaseProcess) => Promise<Result>): Promise<Result> {
  const started = startProcess()
  return run(started).finally(started.kill)
}

function endedError(reason: string): Error {
  return sqliteError(PROCESS_ENDED, `the database process has ended (${reason}): retry`)
}

function lateError(): Error {
  return sqliteError(PROCESS_LATE, 'the disk of the database does not respond')
}
