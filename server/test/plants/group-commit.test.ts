import { expect, onTestFinished, test } from 'vitest'
import { createGroupCommit, type GroupCommitOptions } from '../../src/plants/group-commit.ts'
import { batchCommitted, type Event, writesRejected } from '../../src/telemetry/events.ts'

type Options = Partial<GroupCommitOptions<string, string>>

const UNLIMITED = {
  maxBatchBytes: Number.POSITIVE_INFINITY,
  maxBatchItems: Number.POSITIVE_INFINITY,
  maxWaitingBytes: Number.POSITIVE_INFINITY,
  maxWaitingItems: Number.POSITIVE_INFINITY,
}

/** Creates a group commit of texts, and the batches that it commits. The result of an item is the item in upper case. */
function create(options: Options = {}) {
  const batches: string[][] = []
  const group = createGroupCommit<string, string>({
    ...UNLIMITED,
    weigh: (item) => item.length,
    commit: async (items) => {
      batches.push(items)
      return items.map((item) => item.toUpperCase())
    },
    ...options,
  })
  return { ...group, batches, addAll: (items: string[]) => Promise.all(items.map(group.add)) }
}

function collect<Message>(event: Event<Message>): Message[] {
  const messages: Message[] = []
  const listener = (message: Message) => void messages.push(message)
  event.subscribe(listener)
  onTestFinished(() => event.unsubscribe(listener))
  return messages
}

test('items added in one turn share a commit, and each gets its own result', async () => {
  const sizes = collect(batchCommitted)
  const { addAll, batches } = create()
  expect(await addAll(['a', 'b', 'c'])).toEqual(['A', 'B', 'C'])
  expect(batches).toEqual([['a', 'b', 'c']])
  expect(sizes).toEqual([3])
})

test('items added during a commit share the next one', async () => {
  const finish: (() => void)[] = []
  const { add } = create({
    commit: (items) => new Promise((resolve) => finish.push(() => resolve(items))),
  })
  const first = add('a')
  await expect.poll(() => finish.length).toBe(1)
  const others = Promise.all([add('b'), add('c')])
  finish[0]?.()
  expect(await first).toBe('a')
  await expect.poll(() => finish.length).toBe(2)
  finish[1]?.()
  expect(await others).toEqual(['b', 'c'])
})

test('after a long commit, an item that follows its result joins those that wait', async () => {
  let time = 0
  let endPause = () => {}
  const pauses: number[] = []
  const sleep = (pause: number) => {
    pauses.push(pause)
    return new Promise<void>((resolve) => {
      endPause = resolve
    })
  }
  const batches: string[][] = []
  let second: Promise<string> | undefined
  const { add } = create({
    clock: { now: () => time, sleep },
    commit: async (items) => {
      batches.push(items)
      second ??= add('b')
      time += 16
      return items
    },
  })
  await add('a')
  await expect.poll(() => pauses).toEqual([2])
  const third = add('c')
  endPause()
  expect(await Promise.all([second, third])).toEqual(['b', 'c'])
  expect(batches).toEqual([['a'], ['b', 'c']])
})

test.each<[string, Options, string[][]]>([
  ['items', { maxBatchItems: 2 }, [['a', 'b'], ['c', 'd'], ['e']]],
  ['bytes, but for one larger item', { maxBatchBytes: 4 }, [['aa', 'bb'], ['c'], ['ddddd'], ['e']]],
])('a batch is limited in %s', async (_, options, expected) => {
  const { addAll, batches } = create(options)
  const items = expected.flat()
  expect(await addAll(items)).toEqual(items.map((item) => item.toUpperCase()))
  expect(batches).toEqual(expected)
})

test('a commit that fails rejects its own items and no others', async () => {
  const [sizes, failed] = [collect(batchCommitted), collect(writesRejected)]
  const error = new Error('the disk is full')
  const { add } = create({
    maxBatchItems: 2,
    commit: async (items) => {
      if (items.includes('bad')) throw error
      return items
    },
  })
  const results = await Promise.all(['a', 'bad', 'b', 'c'].map((item) => add(item).catch((reason) => reason)))
  expect(results).toEqual([error, error, 'b', 'c'])
  expect([sizes, failed]).toEqual([[2], [{ count: 2, error }]])
})
