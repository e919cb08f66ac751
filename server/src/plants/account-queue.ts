import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * How many pieces are read in a turn of the event loop: SQLite takes up to 4 ms for one, in which nothing else happens.
 */
const READS_PER_TURN = 8

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
  /**
   * The items of each account, in the order of the accounts. Few wait at a time, and a Map
   * would be slower (fair-share.ts).
   */
  let queues: Item[][] = []
  return {
    add(item, isNext) {
      const own = queues.find(([first]) => first?.account === item.account)
      if (!own) queues.push([item])
      else if (isNext) own.unshift(item)
      else own.push(item)
    },
    first: () => queues[0]?.[0],
    take() {
      const own = queues.shift()
      const item = own?.shift()
      if (own && own.length > 0) queues.push(own)
      return item
    },
    remove(matches) {
      const removed = queues.flat().filter(matches)
      queues = queues.map((own) => own.filter((item) => !matches(item))).filter((own) => own.length > 0)
      return removed
    },
    size: () => queues.reduce((sum, own) => sum + own.length, 0),
  }
}

/**
 * Creates what makes reads of lists wait for their turn, so that however many lists are requested at the same time,
 * other requests are handled meanwhile.
 *
 * An account reads one list after the other: the sooner a list waits for its client, the
 * sooner it can give way to others.
 *
 * @returns a function that resolves once an account may read a piece, the first or a later one of a list
 */
export function createReadQueue(): (account: string, isLater?: boolean) => Promise<void> {
  const waiting = createAccountQueue<{ account: string; resolve(): void }>()
  let running = false

  async function run(): Promise<void> {
    while (waiting.first()) {
      for (let count = 0; count < READS_PER_TURN; count++) waiting.take()?.resolve()
      await nextTurn()
    }
    running = false
  }

  return (account, isLater) =>
    new Promise((resolve) => {
      waiting.add({ account, resolve }, isLater)
      if (running) return
      running = true
      void run()
    })
}
