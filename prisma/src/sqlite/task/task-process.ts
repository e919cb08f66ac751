// A process that runs one task for the process that started it, see `runTask`.

import { toDatabaseError } from '../connection/errors.ts'
import { checkCopy, copyFile } from './copy-file.ts'
import { migrateFile } from './migrate-file.ts'

/** What may block the event loop for minutes. */
const tasks = { checkCopy, copyFile, migrateFile }

export type Tasks = typeof tasks

/** Which task to run. */
export interface TaskRequest {
  name: keyof Tasks
  argument: Parameters<Tasks[keyof Tasks]>[0]
}

/** How a task ended, for the process that started it. */
export type TaskOutcome = { result?: unknown } | { message: string; reason: string }

// A terminal and systemd send these to every process; the process that started this one decides.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})
process.once('disconnect', () => process.exit())

process.once('message', async (request) => {
  const { name, argument } = request as TaskRequest
  const run = tasks[name] as (argument: TaskRequest['argument']) => Promise<unknown>
  const outcome: TaskOutcome = await run(argument).then(
    (result) => ({ result }),
    (error) => {
      const { message, cause } = toDatabaseError(error, argument.file)
      return { message, reason: String(cause) }
    },
  )
  process.send?.(outcome, () => process.disconnect())
})
