import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { DatabaseError } from '../../database-error.ts'
import type { TaskOutcome, TaskRequest, TaskStep } from './task-process.ts'
import type { Tasks } from './tasks.ts'

// This file is TypeScript in development and in tests, JavaScript once it is built.
const extension = path.extname(fileURLToPath(import.meta.url))

/** How to run a task. */
interface TaskOptions<Step> {
  /** Called when a step of the task begins. */
  onStep?: (step: Step) => void
  /** Ends its process; SQLite undoes what it was doing when the file is used again. */
  signal?: AbortSignal | undefined
}

type StepOf<Name extends keyof Tasks> =
  Parameters<Tasks[Name]> extends [unknown, (step: infer Step) => void] ? Step : never

/**
 * Runs a task in a process of its own, because a long statement of SQLite blocks the event loop. Killing
 * it ends even a statement that waits for a disk, which a worker thread would not.
 *
 * @throws {DatabaseError} with the message that the task failed with; the signal's reason
 */
export async function runTask<Name extends keyof Tasks>(
  name: Name,
  argument: Parameters<Tasks[Name]>[0],
  { onStep, signal }: TaskOptions<StepOf<Name>> = {},
): Promise<Awaited<ReturnType<Tasks[Name]>>> {
  signal?.throwIfAborted()
  const child = fork(new URL(`./task-process${extension}`, import.meta.url), {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  child.send({ name, argument } satisfies TaskRequest)
  const end = () => void child.kill('SIGKILL')
  process.once('exit', end)
  signal?.addEventListener('abort', end)
  try {
    const outcome = await outcomeOf(child, (step) => onStep?.(step as StepOf<Name>))
    signal?.throwIfAborted()
    if ('message' in outcome) throw new DatabaseError(outcome.message, { cause: new Error(outcome.reason) })
    return outcome.result as Awaited<ReturnType<Tasks[Name]>>
  } finally {
    process.off('exit', end)
    signal?.removeEventListener('abort', end)
  }
}

/** Waits until the process has ended and so cannot write any more. */
async function outcomeOf(child: ChildProcess, onStep: (step: unknown) => void): Promise<TaskOutcome> {
  let outcome: TaskOutcome | undefined
  child.on('message', (message: TaskOutcome | TaskStep) => {
    if ('step' in message) onStep(message.step)
    else outcome = message
  })
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  if (outcome) return outcome
  const end = signal ? `was killed (${signal})` : `ended with exit code ${code}`
  const message = `the database process ${end}: retry`
  return { message, reason: message }
}
