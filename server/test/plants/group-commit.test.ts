import { expect, onTestFinished, test } from 'vitest'
import { createGroupCommit, type GroupCommitOptions } from '../../src/plants/group-commit.ts'
import { batchCommitted, type Event, requestRejected, writesRejected } from '../../src/telemetry/events.ts'

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

test('items added during a commit share the next one, and a later item starts again', async () => {
  const finish: (() => void)[] = []
  const { add, waiting } = create({
    commit: (items) => new Promise((resolve) => finish.push(() => resolve(items))),
  })
  const first = add('a')
  await expect.poll(() => finish.length).toBe(1)
  const others = Promise.all([add('b'), add('c')])
  expect(waiting()).toBe(2)
  finish[0]?.()
  expect(await first).toBe('a')
  await expect.poll(() => finish.length).toBe(2)
  expect(waiting()).toBe(0)
  finish[1]?.()
  expect(await others).toEqual(['b', 'c'])

  const last = add('d')
  await expect.poll(() => finish.length).toBe(3)
  finish[2]?.()
  expect(await last).toBe('d')
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

test.each<[string, Options, string[], string[][]]>([
  ['items', { maxBatchItems: 2 }, ['a', 'b', 'c', 'd', 'e'], [['a', 'b'], ['c', 'd'], ['e']]],
  ['bytes', { maxBatchBytes: 4 }, ['aa', 'bb', 'c', 'dddd', 'e'], [['aa', 'bb'], ['c'], ['dddd'], ['e']]],
  ['bytes, but for one larger item', { maxBatchBytes: 4 }, ['aaaaa', 'bb', 'c'], [['aaaaa'], ['bb', 'c']]],
])('a batch is limited in %s', async (_, options, items, expected) => {
  const { addAll, batches } = create(options)
  expect(await addAll(items)).toEqual(items.map((item) => item.toUpperCase()))
  expect(batches).toEqual(expected)
})

test.each<[string, Options, string[], string]>([
  ['items', { maxWaitingItems: 2 }, ['a', 'b'], 'c'],
  ['bytes', { maxWaitingBytes: 4 }, ['aa', 'bb'], 'c'],
  ['bytes, but one larger item may wait', { maxWaitingBytes: 4 }, ['aaaaa'], 'b'],
  ['items, but one may always wait', { maxWaitingItems: 0 }, ['a'], 'b'],
])('the items that wait are limited in %s', async (_, options, items, extra) => {
  const rejections = collect(requestRejected)
  const { add, addAll, waiting, batches } = create(options)
  const added = addAll(items)
  expect(waiting()).toBe(items.length)
  expect(() => add(extra)).toThrow(
    expect.objectContaining({
      reason: 'unavailable',
      message: expect.stringContaining('writes are waiting'),
      headers: { 'Retry-After': '1' },
    }),
  )
  expect(rejections).toEqual(['write-queue'])
  await added
  expect(waiting()).toBe(0)

  await Promise.all([added, addAll(items)])
  expect(batches).toEqual([items, items])
  expect(rejections).toHaveLength(1)
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
