/** Items that wait: one of each account after the other, however many one of them adds. */
export interface AccountQueue<Item> {
  /** How many items wait. */
  readonly size: number
  /** Adds an item: as the last one of its account, or as its next one. */
  add(item: Item, isNext?: boolean): void
  /** Returns the next item, which stays in the queue. */
  first(): Item | undefined
  /** Removes the next item, and returns it. Its account is then the last one. */
  take(): Item | undefined
  /** Removes all items that match, and returns them. */
  remove(matches: (item: Item) => boolean): Item[]
}

/** Creates an empty queue. */
export function createAccountQueue<Item extends { readonly account: string }>(): AccountQueue<Item> {
  /** The items of each account, in the order of the accounts. */
  let queues = new Map<string, Item[]>()
  const nextQueue = () => queues.values().next().value

  const queue: AccountQueue<Item> & { size: number } = {
    size: 0,
    add(item, isNext) {
      queue.size++
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
      queue.size--
      queues.delete(item.account)
      if (own.length > 0) queues.set(item.account, own)
      // V8 would keep the tables of one that accounts are added to and deleted from all the time (places.ts).
      else if (queues.size === 0) queues = new Map()
      return item
    },
    remove(matches) {
      const all = [...queues.values()].flat()
      const others = all.filter((item) => !matches(item))
      queues = Map.groupBy(others, ({ account }) => account)
      queue.size = others.length
      return all.filter(matches)
    },
  }
  return queue
}
