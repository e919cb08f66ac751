import { fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { DatabaseError } from '../../database-error.ts'
import type { TaskOutcome, TaskRequest, Tasks } from './task-process.ts'

// This file is TypeScript in development and in tests, JavaScript once it is built.
const extension = path.extname(import.meta.filename)

/**
 * Runs a task in a process of its own, because a long statement of SQLite blocks the event loop. Killing it ends even a
 * statement that waits for a disk, which a worker thread would not; SQLite undoes it when the file is used again.
 *
 * @throws {DatabaseError} with the message that the task failed with; the signal's reason, once the process has ended
 */
export async function runTask<Name extends keyof Tasks>(
  name: Name,
  argument: Parameters<Tasks[Name]>[0],
  signal?: AbortSignal,
): Promise<Awaited<ReturnType<Tasks[Name]>>> {
  signal?.throwIfAborted()
  const child = fork(new URL(`./task-process${extension}`, import.meta.url), {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const outcomes: TaskOutcome[] = []
  child.on('message', (outcome: TaskOutcome) => outcomes.push(outcome))
  child.send({ name, argument } satisfies TaskRequest)
  const end = () => void child.kill('SIGKILL')
  process.once('exit', end)
  signal?.addEventListener('abort', end)
  try {
    const [code, killedBy] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
    signal?.throwIfAborted()
    const [outcome] = outcomes
    if (!outcome) throw new DatabaseError(`the database process ended (${killedBy ?? `exit code ${code}`}): retry`)
    if ('message' in outcome) throw new DatabaseError(outcome.message, { cause: new Error(outcome.reason) })
    return outcome.result as Awaited<ReturnType<Tasks[Name]>>
  } finally {
    process.off('exit', end)
    signal?.removeEventListener('abort', end)
  }
}
