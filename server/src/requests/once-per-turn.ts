import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * Makes a function run once for all keys that are requested in one turn of the event loop, each key once. It begins
 * after the last of them, so it sees what was committed before any was requested; and where it gets no response, only
 * the requests of its turn wait.
 *
 * @param run returns a result for each key, in order
 */
export function oncePerTurn<Result>(
  run: (keys: readonly string[]) => Promise<readonly Result[]>,
): (key: string) => Promise<Result> {
  let results = new Map<string, Promise<Result>>()
  let all: Promise<readonly Result[]> | undefined

  async function runAfterTurn(): Promise<readonly Result[]> {
    await nextTurn()
    const keys = [...results.keys()]
    results = new Map()
    all = undefined
    const list = await run(keys)
    // One that is missing would give every key after it the result of another.
    if (list.length !== keys.length) throw new Error(`${list.length} results for ${keys.length} keys`)
    return list
  }

  return (key) => {
    const known = results.get(key)
    if (known) return known
    const position = results.size
    all ??= runAfterTurn()
    const result = all.then((list) => list[position] as Result)
    results.set(key, result)
    return result
  }
}
