import { Failure } from '../http/failure.ts'

/** Whether the client of a request is still there. */
export type IsWanted = () => boolean

/** Runs a task once those before it have ended, whether they succeeded or failed; not if it is not wanted any more. */
export type TakeTurns = <T>(isWanted: IsWanted, task: () => Promise<T>) => Promise<T>

/** Makes a line of tasks that run one after the other. */
export function createTurns(): TakeTurns {
  let last: Promise<unknown> = Promise.resolve()
  return (isWanted, task) => {
    const result = last.then(() => {
      if (isWanted()) return task()
      throw new Failure('unavailable', 'The client has disconnected.')
    })
    last = result.catch(() => {})
    return result
  }
}

/** The iterator as it was before `piece` was taken from it. Once taken again, the piece is not kept in memory. */
export async function* putBack(piece: string, rest: AsyncIterator<string>): AsyncGenerator<string> {
  const pieces = [piece]
  try {
    for (let next = pieces.pop(); next !== undefined; next = pieces.pop()) yield next
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
  } finally {
    await rest.return?.()
  }
}
