import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * Makes a read run once for all that is asked in one turn of the event loop, each key once. It begins after the last of
 * them, so it sees what was committed before any was asked; and where it gets no response, only the requests of its
 * turn wait.
 *
 * @param read returns a result for each key, in order
 */
export function oncePerTurn<Key, Result>(
  read: (keys: readonly Key[]) => Promise<readonly Result[]>,
): (key: Key) => Promise<Result> {
  let asked = new Map<string, { key: Key; result: Promise<Result> }>()
  let all: Promise<readonly Result[]> | undefined

  async function readAfterTurn(): Promise<readonly Result[]> {
    await nextTurn()
    assert(asked.size > 0, 'a read is of what was asked in its turn')
    const keys = [...asked.values()].map(({ key }) => key)
    asked = new Map()
    all = undefined
    const results = await read(keys)
    // One that is missing would give every key after it the result of another.
    assert(results.length === keys.length, `${results.length} results for ${keys.length} keys`)
    return results
  }

  return (key) => {
    const name = JSON.stringify(key)
    const position = asked.size
    const known = asked.get(name)
    if (known) return known.result
    all ??= readAfterTurn()
    const result = all.then((results) => results[position] as Result)
    asked.set(name, { key, result })
    return result
  }
}
