/**
 * A thread that writes to a SQLite file, or uses it for long, so that the event loop waits for no disk. It is
 *
 * - open: it runs one command after the other. The end of the process waits for the statement that runs, which nothing
 *   ends: a disk that hangs keeps it until a service manager kills it;
 * - blocked, while one of its files is missing: it rejects all that it is asked to run, and writes the log back into
 *   the file if that is what is missing; once it is in place again, it is open. Where another file has the name of one
 *   of its files, it stays so;
 * - closed: its file is closed, the thread has ended, and commands fail;
 * - left, where it has a log and another file has the name of one of its files when it is to close: SQLite would write to
 *   that file. Commands fail, its thread stays, and since the end of the process would close it too, the process then ends
 *   by SIGKILL;
 * - failed, where it ended by itself, such as for lack of memory: that is an uncaught exception of this process.
 */

import assert from 'node:assert/strict'
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import type { SqlValue, Transaction } from '../engine.ts'
import { retry, TIMES } from '../patience.ts'
import type { Cache } from './connection.ts'
import { toError } from './errors.ts'
import type { OpenedFile } from './file-guard.ts'
import type { Command, commands, Outcome } from './writer-thread.ts'

type Commands = typeof commands

/** What uses a file in a thread of its own. */
export interface Writer {
  /** The file, and those that SQLite keeps next to it. */
  readonly files: readonly OpenedFile[]
  /** Lets the thread run a command, during which it keeps the process running. */
  send<Name extends keyof Commands>(
    name: Name,
    ...args: Parameters<Commands[Name]>
  ): Promise<ReturnType<Commands[Name]>>
  /** Closes the file and ends the thread, unless the files are not its own any more. */
  close(): Promise<void>
}

// This file is TypeScript in development and in tests, JavaScript once it is built.
const program = new URL(`./writer-thread${path.extname(import.meta.filename)}`, import.meta.url)

/**
 * Opens a file in a thread of its own.
 *
 * @param script the first statements. Default: the settings of what writes for requests, which are checked
 * @param cache whether connections of this process share what they read, and its locks. Default: private
 * @throws {StorageError} if it cannot be used
 */
export async function openWriter(file: string, script?: string, cache?: Cache): Promise<Writer> {
  // No module that is preloaded for the server, such as one that measures its requests.
  const worker = new Worker(program, { execArgv: [], env: { ...process.env, NODE_OPTIONS: '' } })
  /** The commands without an outcome, in order. */
  const pending: { resolve(result: never): void; reject(error: unknown): void }[] = []
  let failure: Error | undefined

  function fail(): never {
    failure = new Error('The thread that uses SQLite has ended: check the limits of memory')
    throw failure
  }

  worker.on('exit', fail)
  worker.on('message', (outcome: Outcome) => {
    // Other code in the thread, such as a watcher's, may send messages of its own.
    if (!('result' in outcome || 'error' in outcome)) return
    const command = pending.shift()
    assert(command, 'an outcome belongs to a command')
    if (pending.length === 0) worker.unref()
    if ('error' in outcome) command.reject(toError(outcome.error))
    else command.resolve(outcome.result as never)
  })
  worker.unref()

  const send: Writer['send'] = (name, ...args) =>
    new Promise((resolve, reject) => {
      if (failure) throw failure
      pending.push({ resolve, reject })
      worker.ref()
      worker.postMessage({ name, args } satisfies Command)
    })

  async function close(): Promise<void> {
    if (await send('close')) await worker.off('exit', fail).terminate()
    else process.once('exit', endNow)
    failure ??= new Error('The thread that uses SQLite is closed')
  }
  const files = await retry(() => send('open', file, script, cache), TIMES.task).catch(async (error) => {
    await close()
    throw error
  })
  return { files, send, close }
}

/** Ends the process without joining its threads. Linux ignores the signal of a container's first process. */
function endNow(): never {
  process.kill(process.pid, 'SIGKILL')
  process.abort()
}

/**
 * Opens a connection in a thread of its own, and runs its first statements. A migration takes long, a disk may hang, and
 * SQLite may sync a log that a killed process has left.
 */
export async function openInThread(file: string, script: string, cache?: Cache): Promise<Transaction> {
  const { send, close } = await openWriter(file, script, cache)
  return {
    query: async <Row>(sql: string, ...values: SqlValue[]) => (await send('run', sql, values)).rows as Row[],
    executeScript: (text) => send('executeScript', text),
    commit: () => send('executeScript', 'COMMIT'),
    // What is committed stays, and an error of what failed before is the one to report.
    [Symbol.asyncDispose]: () => close().catch(() => {}),
  }
}
