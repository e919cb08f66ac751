import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { createWriteGate, limitTime } from '../patience.ts'
import { stateError, toError, WRITER_ENDED, WRITER_LATE } from './errors.ts'
import type { OpenedFiles } from './file-guard.ts'
import type { Command, FileOperations, OperationName, Outcome } from './writer-thread.ts'

/** A thread that uses a SQLite file for this one. It keeps the process running only during an operation. */
export interface Thread extends FileOperations {
  /** Resolves once it has ended. */
  readonly ended: Promise<void>
  /** Closes the file and ends it, unless the files are not its own any more: it is then left until the process ends. */
  close(): Promise<void>
}

/** What writes to a SQLite file, in a thread of its own. */
export interface Writer {
  /** Opens the file, and returns its files. */
  open(): Promise<OpenedFiles>
  /** Runs an operation that writes, after those before it. */
  run<Result>(operation: (thread: FileOperations) => Promise<Result>): Promise<Result>
  /** Whether the last write failed because of the database. */
  hasFailed(): boolean
  /** Closes the file and ends the thread, unless its disk does not respond. */
  close(): Promise<void>
}

/** An operation without an outcome. */
interface Pending {
  resolve(result: unknown): void
  reject(error: unknown): void
}

/** How long closing may take, in milliseconds: what is committed is in the log, and stays there. */
const CLOSE_PATIENCE = 3_000

// This file is TypeScript in development and in tests, JavaScript once it is built.
const program = new URL(`./writer-thread${path.extname(import.meta.filename)}`, import.meta.url)
/** How long the end of the process waits for operations, in milliseconds: nothing ends a statement, and one took 9 s. */
const EXIT_PATIENCE = 1_000
/** The number of operations of each thread that has not ended yet, which the thread counts down. */
const counts = new Set<Int32Array>()
/** Whether a thread must not close its files, as it would where the process waits for its end. */
let isThreadLeft = false
process.on('exit', () => {
  const end = performance.now() + EXIT_PATIENCE
  for (const count of counts) {
    for (let left = Atomics.load(count, 0); left > 0; left = Atomics.load(count, 0)) {
      if (Atomics.wait(count, 0, left, end - performance.now()) === 'timed-out') endNow()
    }
  }
  if (isThreadLeft) endNow()
})

/** Ends the process without joining its threads. Linux ignores the signal where the first process of a container sends it. */
function endNow(): never {
  process.kill(process.pid, 'SIGKILL')
  process.abort()
}

/**
 * Starts a thread that runs one operation after the other.
 *
 * @param file names the database in messages
 * @throws {StorageError} if the system starts no thread
 */
export function startThread(file: string): Thread {
  const count = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  const worker = startWorker(file, count)
  counts.add(count)
  const pending = new Map<number, Pending>()
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
  let lastId = 0

  function end(cause?: unknown): void {
    counts.delete(count)
    for (const { reject } of pending.values()) reject(stateError(file, WRITER_ENDED, cause))
    pending.clear()
  }

  worker.on('error', end).on('exit', () => end())
  worker.on('message', (outcome: Outcome) => {
    const operation = pending.get(outcome.id)
    pending.delete(outcome.id)
    if (pending.size === 0) worker.unref()
    if ('error' in outcome) operation?.reject(toError(outcome.error))
    else operation?.resolve(outcome.result)
  })
  worker.unref()

  /** Makes a function that lets the thread run an operation. */
  const command =
    <Result>(name: OperationName) =>
    (...args: unknown[]): Promise<Result> =>
      new Promise((resolve, reject) => {
        if (!counts.has(count)) throw stateError(file, WRITER_ENDED)
        const id = ++lastId
        pending.set(id, { resolve: resolve as Pending['resolve'], reject })
        worker.ref()
        Atomics.add(count, 0, 1)
        worker.postMessage({ id, name, args } satisfies Command)
      })

  const closeFile = command<boolean>('closeFile')
  return {
    open: command('open'),
    queryRaw: command('queryRaw'),
    executeRaw: command('executeRaw'),
    executeScript: command('executeScript'),
    sync: command('sync'),
    copyFile: command('copyFile'),
    closeFile,
    ended,

    async close() {
      if (!counts.has(count)) return
      if (await closeFile()) await worker.terminate()
      else isThreadLeft = true
    },
  }
}

function startWorker(file: string, count: Int32Array): Worker {
  try {
    // No module that was preloaded for the server, such as one that measures its requests.
    return new Worker(program, { execArgv: [], workerData: count })
  } catch (error) {
    throw stateError(file, WRITER_ENDED, error)
  }
}

/**
 * Creates what writes to a SQLite file, so that the event loop waits for no disk (docs/decisions/021-writer-thread.md). A thread
 * that has ended is started again by the next write; what it was doing fails.
 *
 * @param patience how long a write may take, in milliseconds
 */
export function createWriter(file: string, patience: number): Writer {
  const { run, hasFailed } = createWriteGate(patience, () => stateError(file, WRITER_LATE))
  let opened: Promise<Thread> | undefined
  let files: OpenedFiles | undefined

  /** Starts a thread that opens the file: the same files again, where it takes the place of another one. */
  async function start(): Promise<Thread> {
    const thread = startThread(file)
    try {
      files = await thread.open(file, { known: files })
      return thread
    } catch (error) {
      await thread.close()
      throw error
    }
  }

  function open(): Promise<Thread> {
    const opening = start()
    const forget = () => {
      if (opened === opening) opened = undefined
    }
    opening.then(({ ended }) => ended.then(forget), forget)
    opened = opening
    return opening
  }

  return {
    async open() {
      await open()
      return files ?? []
    },

    run: (operation) => run(async () => operation(await (opened ?? open()))),
    hasFailed,

    async close() {
      const thread = await opened?.catch(() => undefined)
      if (!thread) return
      await limitTime(thread.close(), CLOSE_PATIENCE, () => stateError(file, WRITER_LATE)).catch(() => {})
    },
  }
}
