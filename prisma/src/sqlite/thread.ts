import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { stateError, THREAD_ENDED, toError } from './errors.ts'
import type { OpenedFiles } from './file-guard.ts'
import type { Command, FileOperations, OpenFileOptions, Outcome } from './thread-main.ts'

/** A thread that uses a SQLite file for this one. It keeps the process running only during an operation. */
export interface Thread extends FileOperations {
  /** Resolves once it has ended. */
  readonly ended: Promise<void>
  /** Closes the file and ends it, unless the files are not its own any more: it is then left until the process ends. */
  close(): Promise<void>
}

/** A thread that has opened its file. */
export interface OpenedThread extends Thread {
  /** The file, and those that SQLite keeps next to it. */
  readonly files: OpenedFiles
}

/** An operation without an outcome. */
interface Pending {
  resolve(result: unknown): void
  reject(error: unknown): void
}

// This file is TypeScript in development and in tests, JavaScript once it is built.
const program = new URL(`./thread-main${path.extname(import.meta.filename)}`, import.meta.url)
/**
 * How long the end of the process waits for operations, in milliseconds: nothing ends a statement, and one took 9 s.
 */
const EXIT_PATIENCE = 1_000
/** How many operations have not ended yet: the threads count them down. */
const running = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
/** Whether a thread must not close its files, as it would where the process waits for its end. */
let isThreadLeft = false
process.on('exit', () => {
  const end = performance.now() + EXIT_PATIENCE
  for (let left = Atomics.load(running, 0); left > 0; left = Atomics.load(running, 0)) {
    if (Atomics.wait(running, 0, left, end - performance.now()) === 'timed-out') endNow()
  }
  if (isThreadLeft) endNow()
})

/** Ends the process without joining its threads. Linux ignores the signal of a container's first process. */
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
  const worker = startWorker(file)
  const pending = new Map<number, Pending>()
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
  let hasEnded = false
  let lastId = 0

  function end(cause?: unknown): void {
    hasEnded = true
    Atomics.sub(running, 0, pending.size)
    for (const { reject } of pending.values()) reject(stateError(file, THREAD_ENDED, cause))
    pending.clear()
  }

  worker.on('error', end).on('exit', () => end())
  // By their ids: other code in the thread, such as a watcher's, may send messages of its own.
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
    <Result>(name: Command['name']) =>
    (...args: unknown[]): Promise<Result> =>
      new Promise((resolve, reject) => {
        if (hasEnded) throw stateError(file, THREAD_ENDED)
        const id = ++lastId
        pending.set(id, { resolve: resolve as Pending['resolve'], reject })
        worker.ref()
        Atomics.add(running, 0, 1)
        worker.postMessage({ id, name, args } satisfies Command)
      })

  const closeFile = command<boolean>('closeFile')
  return {
    open: command('open'),
    run: command('run'),
    store: command('store'),
    executeScript: command('executeScript'),
    sync: command('sync'),
    copyFile: command('copyFile'),
    closeFile,
    ended,

    async close() {
      if (hasEnded) return
      if (await closeFile()) await worker.terminate()
      else isThreadLeft = true
    },
  }
}

function startWorker(file: string): Worker {
  try {
    // No module that was preloaded for the server, such as one that measures its requests.
    return new Worker(program, { execArgv: [], workerData: running })
  } catch (error) {
    throw stateError(file, THREAD_ENDED, error)
  }
}

/**
 * Starts a thread that opens a file, see {@link FileOperations.open}.
 *
 * @throws {StorageError} if it cannot be used
 */
export async function openThread(file: string, options?: OpenFileOptions): Promise<OpenedThread> {
  const thread = startThread(file)
  try {
    return { ...thread, files: await thread.open(file, options) }
  } catch (error) {
    await thread.close()
    throw error
  }
}
