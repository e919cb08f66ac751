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
   * would be slower (places.ts).
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
