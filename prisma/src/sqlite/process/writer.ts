import type { OpenedFile } from '../connection/file-guard.ts'
import { type DatabaseProcess, startProcess } from './start-process.ts'

/** How long closing may take, in milliseconds: what is committed is in the log, and stays there. */
const CLOSE_PATIENCE = 10_000

/** Writes to a SQLite file in a process of its own, which is started again if it has ended. */
export interface Writer {
  /** Opens the file, and returns its files. */
  open(signal?: AbortSignal): Promise<readonly OpenedFile[]>
  run: DatabaseProcess['run']
  close(): Promise<void>
}

/**
 * Creates a writer.
 *
 * @param patience how long an operation may take, in milliseconds
 */
export function createWriter(file: string, patience: number): Writer {
  let process = startProcess()
  let files: readonly OpenedFile[] | undefined
  let closed = false

  function restart(): void {
    const started = startProcess()
    process = started
    // What waits behind it fails for the same reason. The next operation tries again.
    started.run('open', [file, files]).catch(started.kill)
  }

  return {
    async open(signal) {
      files = await process.run('open', [file], { signal })
      return files
    },

    run(name, args) {
      if (process.hasEnded() && !closed) restart()
      return process.run(name, args, { patience })
    },

    async close() {
      closed = true
      await process.run('close', [], { patience: CLOSE_PATIENCE }).catch(() => {})
      await process.kill()
    },
  }
}
