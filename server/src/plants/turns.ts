import { setImmediate as nextTurn } from 'node:timers/promises'

/** How many pieces are read in a turn of the event loop: SQLite takes up to 4 ms for one, in which nothing else happens. */
const READS_PER_TURN = 8

/** Creates a queue in which accounts take turns, however many items one of them adds. */
export function createQueue<Item extends { readonly account: string }>() {
  /** The items of each account, in the order of the accounts. Few wait at a time, and a Map would be slower (fair-share.ts). */
  const queues: Item[][] = []
  let size = 0
  return {
    add(item: Item): void {
      size++
      const own = queues.find(([first]) => first?.account === item.account)
      if (own) own.push(item)
      else queues.push([item])
    },

    /** Returns the next item, which stays in the queue. */
    first: (): Item | undefined => queues[0]?.[0],

    /** Removes the next item, and returns it. Its account is then the last one. */
    take(): Item | undefined {
      const own = queues.shift()
      const item = own?.shift()
      if (item) size--
      if (own && own.length > 0) queues.push(own)
      return item
    },

    size: () => size,
  }
}

/**
 * Creates what makes reads of lists wait for their turn, so that however many lists are requested at the same time, other
 * requests are handled meanwhile.
 *
 * @returns a function that resolves once an account may read a piece
 */
export function createReadTurns(): (account: string) => Promise<void> {
  const waiting = createQueue<{ account: string; resolve(): void }>()
  let running = false

  async function run(): Promise<void> {
    while (waiting.size() > 0) {
      for (let count = 0; count < READS_PER_TURN; count++) waiting.take()?.resolve()
      await nextTurn()
    }
    running = false
  }

  return (account) =>
    new Promise((resolve) => {
      waiting.add({ account, resolve })
      if (running) return
      running = true
      void run()
    })
}
