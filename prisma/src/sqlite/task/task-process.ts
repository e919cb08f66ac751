// A process that does one task for the process that started it, see `runTask`.
import { toDatabaseError } from '../../database-error.ts'
import { type Tasks, tasks } from './tasks.ts'

/** What to do: the name of a task, and its argument. */
export interface TaskRequest {
  name: keyof Tasks
  argument: Parameters<Tasks[keyof Tasks]>[0]
}

/** What became of a task, for the process that started it. */
export type TaskOutcome = { result?: unknown } | { message: string; reason: string }

// A terminal, and systemd, send these to every process; the one that started this process decides what to do.
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
