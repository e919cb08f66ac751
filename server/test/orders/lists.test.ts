import { type ListRange, type Plants, StorageError } from '@plant-store/prisma'
import fc from 'fast-check'
import { testOrders } from '../../../test/helpers/orders.ts'
import { createLists } from '../../src/plants/lists.ts'
import { HttpError } from '../../src/requests/errors.ts'

interface Row {
  readonly seq: number
  readonly name: string
}

/** What a client asks for, how fast it reads, and which lists it has. */
interface Reading {
  after?: number
  limit?: number | undefined
  isPart?: boolean
  isSlow?: boolean
  known?: string[]
}

const step = fc.record({
  action: fc.constantFrom(
    ...(['insert', 'insert', 'insert', 'rename', 'remove', 'save', 'restore', 'restart', 'part', 'part'] as const),
    ...Array<'list'>(8).fill('list'),
  ),
  /** Whose list; or, of a part, after which plant. */
  number: fc.nat(2),
  /** How many plants a part has; or whether the client has the lists until then, or is slow. */
  limit: fc.constantFrom(undefined, 1, 2, 9),
})

/** So that pieces are read again, which others displace. */
const THREE_PIECES = 3_400

const textOf = (rows: readonly Row[]) => JSON.stringify(rows.map(({ name }) => ({ name })))
const bob = { rows: [{ seq: 1, name: 'bob' }], version: 'bob' }
/** Whether a list has only grown from each state to the next. */
const isAppended = (states: readonly (readonly Row[])[]) =>
  states.every((rows, index) => rows.every((row, at) => (states[index + 1] ?? rows)[at] === row))
const fail = () => new StorageError('fails')

testOrders('a list is never older than its request, and its tag names its text', 2_500, step, (order, steps) => {
  let names = 0
  const add = (count: number, last = 0) =>
    Array.from({ length: count }, (_, index) => ({ seq: last + index + 1, name: `${++names}` }))
  /** Alice's list. */
  let stored = { rows: add((2 + steps.length) % 6), version: 'version-0' }
  let saved = stored
  const history = [stored.rows]
  /** What each version of a whole list, and each tag of a part, names. */
  const texts = new Map([
    ['empty', '[]'],
    ['bob', textOf(bob.rows)],
    [stored.version, textOf(stored.rows)],
  ])

  function change(rows: Row[], version = `version-${history.length}`): void {
    stored = { rows, version }
    history.push(rows)
    texts.set(version, textOf(rows))
  }

  const stateOf = (account: string) => (account === 'bob' ? bob : stored)
  const plants = {
    states: (accounts: string[]) =>
      order.call(() => accounts.map(stateOf).map((state) => ({ ...state, last: state.rows.at(-1)?.seq ?? 0 })), fail),
    read(account: string, { limit, after = 0, until = Number.POSITIVE_INFINITY }: ListRange) {
      // As long as a turn may read.
      order.pass(6)
      return order.call(() => {
        const { rows, version } = stateOf(account)
        const range = rows.filter(({ seq }) => seq > after && seq <= until)
        const part = range.slice(0, Math.min(limit, 2))
        // The first piece of a list fits, and neither twice as many plants nor a large part.
        const isLarge = (limit > 512 || limit === 9) && range.length > 2
        const json = isLarge ? undefined : Buffer.from(textOf(part).slice(1, -1))
        return { json, last: part.at(-1)?.seq ?? 0, more: range.length > part.length, version }
      }, fail)
    },
  }
  const createServer = () => createLists(plants as unknown as Plants, THREE_PIECES)
  let readList = createServer()

  /** Lists as a client does, which may read slowly. */
  async function list(account: string, { after = 0, limit, isPart, isSlow, known = [] }: Reading = {}) {
    const begin = history.length - 1
    const selection = isPart ? { after, limit } : {}
    const { json, version: tag, end, more } = await readList(account, selection, known)
    let text = Buffer.isBuffer(json) ? json.toString() : ''
    for (let next = Buffer.isBuffer(json) ? undefined : json; next; ) {
      for (let pauses = isSlow ? 20 : 1; pauses > 0; pauses--) await order.event('read')
      const piece = await next()
      text += piece.json
      next = piece.next
    }
    const name = isPart ? `${account} ${after} ${limit} ${tag}` : `${tag}`
    if (known.includes(name)) text = texts.get(name) as string
    if (tag !== undefined)
      order.expect((texts.get(name) ?? text) === text, `${name} is ${text}, not ${texts.get(name)}`)
    if (tag !== undefined) texts.set(name, text)
    const states = account === 'bob' ? [bob.rows] : history.slice(begin)
    const listed = (JSON.parse(text) as Row[]).map(
      ({ name }) => states.flat().find((row) => row.name === name)?.seq ?? 0,
    )
    order.expect(
      listed.every((seq, index) => seq > (listed[index - 1] ?? after)),
      `${text} has another order`,
    )
    order.expect(
      !isPart || (end >= after && listed.every((seq) => seq <= end)),
      `${text} ends elsewhere than at ${end}`,
    )
    const always = states.reduce((kept, state) => kept.filter((row) => state.includes(row)))
    // Where plants were only added, the next page begins at the end.
    const expected = (states.at(-1) ?? []).filter(
      (row) => always.includes(row) || (isPart && row.seq <= end && isAppended(states)),
    )
    for (const { seq } of expected.filter(({ seq }) => seq > after && (!more || seq <= end))) {
      order.expect(listed.includes(seq), `${text} lacks ${seq}`)
    }
    return text
  }

  /** Whether a list may break: plants that it had were changed while it was sent. */
  const mayBreak = (begin: number) => (error: unknown) =>
    error instanceof HttpError ? !isAppended(history.slice(begin)) : error instanceof StorageError

  const act = {
    insert: (count: number) =>
      change([...stored.rows, ...add(count + 1, Math.max(...history.flat().map(({ seq }) => seq), 0))]),
    rename: () => change(stored.rows.map((row, index) => (index === 0 ? { ...row, name: `${++names}` } : row))),
    remove: () => change(stored.rows.slice(1)),
    save() {
      saved = stored
    },
    restore: () => change(saved.rows, saved.version),
    restart() {
      readList = createServer()
    },
    list(number: number, limit?: number) {
      const begin = history.length - 1
      const known = limit === 1 ? [...texts.keys()] : []
      order.client(list(number === 2 ? 'bob' : 'alice', { known, isSlow: limit === 9 }), mayBreak(begin))
    },
    part(after: number, limit?: number) {
      const begin = history.length - 1
      order.client(list('alice', { after, limit, isPart: true }), mayBreak(begin))
    },
  }
  order.steps(steps, ({ action, number, limit }) => act[action](number, limit))
  return async () => order.expect((await list('alice')) === textOf(stored.rows), 'the last list is stale')
})
