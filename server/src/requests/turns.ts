import { setImmediate as nextTurn } from 'node:timers/promises'

/** How long work of one kind may take in a turn of the event loop, in milliseconds. */
const TURN = 5

/**
 * Work of one kind, such as reading lists, of which each turn of the event loop does a little: however much arrives
 * together, everything else, probes too, is handled meanwhile. It is measured, since what fits into a turn depends on the machine.
 */
export interface Turns {
  /** Returns whether work may begin at once, before anything else is awaited: none waits, and this turn has time left. */
  hasTime(): boolean
  /**
   * Waits until work may begin. Accounts, or addresses while no account is known, take turns.
   *
   * @param isNext whether it comes before other work of its account. Default: false
   */
  wait(account: string, isNext?: boolean): Promise<void>
  /** Returns how much work waits. */
  size(): number
}

/** Creates the turns of one kind of work. */
export function createTurns(): Turns {
  const waiting = createAccountQueue<{ account: string; begin(): void }>()
  let isRunning = false
  /** When the work of this turn that has not waited has to end; undefined: there is none yet. */
  let end: number | undefined

  async function run(): Promise<void> {
    while (waiting.first()) {
      await nextTurn()
      const deadline = performance.now() + TURN
      do {
        waiting.take()?.begin()
        // What it does until it waits for something comes before the next tick.
        await new Promise<void>((resolve) => process.nextTick(resolve))
      } while (waiting.first() && performance.now() < deadline)
    }
    isRunning = false
  }

  return {
    hasTime() {
      if (isRunning) return false
      const now = performance.now()
      if (end === undefined) {
        end = now + TURN
        setImmediate(() => {
          end = undefined
        })
      }
      return now < end
    },
    wait: (account, isNext) =>
      new Promise((begin) => {
        waiting.add({ account, begin }, isNext)
        if (isRunning) return
        isRunning = true
        void run()
      }),
    size: waiting.size,
  }
}

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

/** Items that wait. Accounts take turns, however many items one of them adds. */
export interface AccountQueue<Item> {
  /** Adds an item: as the last one of its account, or as its next one. */
  add(item: Item, isNext?: boolean): void
  /** Returns the next item, which stays in the queue. */
  first(): Item | undefined
  /** Removes the next item, and returns it. Its account is then the last one. */
  take(): Item | undefined
  /** Removes all items that match, and returns them. */
  remove(matches: (item: Item) => boolean): Item[]
  size(): number
}

/** Creates an empty queue. */
export function createAccountQueue<Item extends { readonly account: string }>(): AccountQueue<Item> {
  /** The items of each account, in the order of the accounts. */
  let queues = new Map<string, Item[]>()
  const nextQueue = () => queues.values().next().value

  return {
    add(item, isNext) {
      const own = queues.get(item.account)
      if (!own) queues.set(item.account, [item])
      else if (isNext) own.unshift(item)
      else own.push(item)
    },
    first: () => nextQueue()?.[0],
    take() {
      const own = nextQueue()
      const item = own?.shift()
      if (!own || !item) return undefined
      queues.delete(item.account)
      if (own.length > 0) queues.set(item.account, own)
      // V8 would keep the tables of one that accounts are added to and deleted from all the time (places.ts).
      else if (queues.size === 0) queues = new Map()
      return item
    },
    remove(matches) {
      const all = [...queues.values()].flat()
      queues = Map.groupBy(
        all.filter((item) => !matches(item)),
        ({ account }) => account,
      )
      return all.filter(matches)
    },
    size: () => [...queues.values()].reduce((sum, own) => sum + own.length, 0),
  }
}
