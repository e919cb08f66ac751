import path from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Transaction } from '../engine.ts'
import { retry, TIMES } from '../patience.ts'
import { toConnection } from './driver-adapter.ts'
import { toError } from './errors.ts'
import type { OpenedFiles } from './file-guard.ts'
import type { Command, FileOperations, Outcome } from './thread-main.ts'

/** A thread that uses a SQLite file for this one. It keeps the process running only during an operation. */
interface Thread extends FileOperations {
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
/** How many operations have not ended yet: the threads count them down. */
const running = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
/** Whether a thread must not close its files, as it would where the process waits for its end. */
let isThreadLeft = false
process.on('exit', () => {
  const end = performance.now() + TIMES.exit
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
 * Starts a thread that runs one operation after the other. If it ends by itself, such as for lack of memory, that is an
 * uncaught exception of this process.
 */
function startThread(): Thread {
  // No module that is preloaded for the server, such as one that measures its requests.
  const withoutPreloads = { execArgv: [], env: { ...process.env, NODE_OPTIONS: '' } }
  const worker = new Worker(program, { ...withoutPreloads, workerData: running })
  const pending = new Map<number, Pending>()
  let failure: Error | undefined
  let lastId = 0

  function end(): never {
    Atomics.sub(running, 0, pending.size)
    failure = new Error('The thread that uses SQLite has ended: check the limits of memory')
    throw failure
  }

  worker.on('exit', end)
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
        if (failure) throw failure
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
    runDurably: command('runDurably'),
    executeScript: command('executeScript'),
    probe: command('probe'),
    closeFile,

    async close() {
      if (await closeFile()) await worker.off('exit', end).terminate()
      else isThreadLeft = true
      failure ??= new Error('The thread that uses SQLite is closed')
    },
  }
}

/**
 * Starts a thread that opens a file, see {@link FileOperations.open}.
 *
 * @throws {StorageError} if it cannot be used
 */
export async function openThread(file: string, script?: string): Promise<OpenedThread> {
  const thread = startThread()
  try {
    return { ...thread, files: await retry(() => thread.open(file, script), TIMES.task) }
  } catch (error) {
    await thread.close()
    throw error
  }
}

/**
 * Opens a connection in a thread of its own, and runs its first statements. A migration takes long, a disk may hang, and
 * SQLite may sync a log that a killed process has left: the event loop must not wait for them.
 */
export async function openInThread(file: string, script: string): Promise<Transaction> {
  const { run, executeScript, close } = await openThread(file, script)
  return {
    connection: toConnection(run, executeScript),
    commit: () => executeScript('COMMIT'),
    // What is committed stays, and an error of what failed before is the one to report.
    [Symbol.asyncDispose]: () => close().catch(() => {}),
  }
}
