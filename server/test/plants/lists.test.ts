import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ListRange, Plants } from '@plant-store/prisma'
import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { runs } from '../../../test/helpers/long-tests.ts'
import { createLists, type Lists } from '../../src/plants/lists.ts'
import { HttpError } from '../../src/requests/errors.ts'

const MEBIBYTE = 2 ** 20

type Selection = Parameters<Lists['read']>[1]

interface Row {
  readonly seq: number
  readonly name: string
}
interface List {
  readonly rows: readonly Row[]
  readonly version: string | undefined
}

/**
 * Creates a database in memory that any program may change, and counts what is read of it.
 *
 * @param maxBytes how much JSON several plants may have at most
 * @param wait delays what was read on its way to the server
 */
function createDatabase(maxBytes = 2 ** 16, wait = async () => {}) {
  const counts = { states: 0, reads: 0 }
  let stored = { lists: new Map<string, List>(), lastSeq: 0 }
  let versions = 0

  const listOf = (account: string): List => stored.lists.get(account) ?? { rows: [], version: undefined }
  const rowsOf = (account: string) => listOf(account).rows
  function change(account: string, rows: readonly Row[], lastSeq = stored.lastSeq): void {
    stored = { lists: new Map(stored.lists).set(account, { rows, version: `version-${++versions}` }), lastSeq }
  }

  const plants: Pick<Plants, 'states' | 'read'> = {
    async states(accounts) {
      counts.states++
      const states = accounts.map(listOf).map(({ rows, version }) => ({ version, last: rows.at(-1)?.seq ?? 0 }))
      await wait()
      return states
    },
    async read(account, { limit, after = 0, until = Number.POSITIVE_INFINITY }: ListRange) {
      counts.reads++
      const { version } = listOf(account)
      const rows = rowsOf(account).filter(({ seq }) => seq > after && seq <= until)
      const part = rows.slice(0, limit)
      const json = part.map(({ name }) => JSON.stringify({ name })).join()
      await wait()
      const isTooLong = part.length > 1 && json.length > maxBytes
      const last = part.at(-1)?.seq ?? 0
      return { json: isTooLong ? undefined : Buffer.from(json), last, more: rows.length > part.length, version }
    },
  }
  return {
    // Nothing else is called here.
    plants: plants as Plants,
    counts,
    rowsOf,
    save: () => stored,
    restore(saved: typeof stored) {
      stored = saved
    },
    insert(account: string, ...names: string[]) {
      const rows = names.map((name, index) => ({ seq: stored.lastSeq + 1 + index, name }))
      change(account, [...rowsOf(account), ...rows], stored.lastSeq + rows.length)
    },
    rename(account: string, name: string) {
      const [first, ...others] = rowsOf(account)
      change(account, first ? [{ ...first, name }, ...others] : [])
    },
    remove: (account: string) => change(account, rowsOf(account).slice(1)),
    forgetVersion(account: string) {
      stored = { ...stored, lists: new Map(stored.lists).set(account, { ...listOf(account), version: undefined }) }
    },
  }
}

/** Creates the lists of a server. */
function createServer(database: ReturnType<typeof createDatabase>) {
  const lists = createLists(database.plants)
  /** Reads a list as a client gets it, with what names its text, and does something before it is sent. */
  async function get(account: string, selection?: Selection, known?: readonly string[], meanwhile = async () => {}) {
    const { json, ...list } = await lists.read(account, selection, known)
    await meanwhile()
    let text = Buffer.isBuffer(json) ? json.toString() : ''
    for (let next = Buffer.isBuffer(json) ? undefined : json; next; ) {
      const piece = await next()
      text += piece.json
      next = piece.next
    }
    return { ...list, text }
  }
  const list = async (account: string, selection?: Selection) => namesOf((await get(account, selection)).text)

  /** Returns how many reads a list takes. */
  async function readsOf(account: string): Promise<number> {
    const before = database.counts.reads
    await list(account)
    return database.counts.reads - before
  }

  return { lists, get, list, readsOf }
}

function namesOf(text: string): string[] {
  return (JSON.parse(text) as { name: string }[]).map(({ name }) => name)
}

test('a list is read once for each of its versions, and an empty one never', async () => {
  const database = createDatabase()
  const { list, readsOf, lists } = createServer(database)
  expect([await list('alice'), database.counts.reads]).toEqual([[], 0])
  database.insert('alice', 'é')
  expect([await list('alice'), await readsOf('alice'), database.counts.reads]).toEqual([['é'], 0, 1])
  // The same bytes for all requests.
  expect((await lists.read('alice')).json).toBe((await lists.read('alice')).json)
  database.rename('alice', 'a')
  expect([await readsOf('alice'), await readsOf('alice'), await list('alice')]).toEqual([1, 0, ['a']])
  database.insert('bob', 'x')
  expect(await readsOf('alice')).toBe(0)
})

test('a part of a list is not taken from the cached list, and a list without a version is read each time', async () => {
  const database = createDatabase()
  const { readsOf, list, get } = createServer(database)
  database.insert('alice', 'a', 'b', 'c')
  expect(await readsOf('alice')).toBe(1)
  expect(await list('alice', { after: 1 })).toEqual(['b', 'c'])
  expect(database.counts.reads).toBe(2)
  database.forgetVersion('alice')
  expect([await readsOf('alice'), await readsOf('alice')]).toEqual([1, 1])
  expect(namesOf((await get('alice', {}, ['empty'])).text)).toEqual(['a', 'b', 'c'])
})

test('a part says where it ends and whether more follows, also one of several pieces or without plants', async () => {
  const database = createDatabase(100)
  const { get } = createServer(database)
  const names = Array.from({ length: 30 }, (_, index) => `plant ${index}`)
  database.insert('alice', ...names)
  const part = async (selection: Selection) => {
    const { text, version, ...rest } = await get('alice', selection)
    return { names: namesOf(text), ...rest }
  }
  expect(await part({ limit: 20, after: 5 })).toEqual({ names: names.slice(5, 25), end: 25, more: true })
  expect(await part({ limit: 25, after: 5 })).toEqual({ names: names.slice(5), end: 30, more: false })
  expect(await part({ after: 5 })).toEqual({ names: names.slice(5), end: 30, more: false })
  for (const after of [30, 31]) {
    for (const limit of [1, undefined]) {
      expect(await part({ limit, after })).toEqual({ names: [], end: after, more: false })
    }
  }
})

test('of a list the first MiB is cached, and of all lists 16 MiB, of which those not used for long go first', async () => {
  const database = createDatabase(MEBIBYTE)
  const { readsOf } = createServer(database)
  const half = 'x'.repeat(MEBIBYTE / 2 - 2_000)
  database.insert('long', ...Array(1_024).fill(''), half, half, half)
  // 512 plants, 1,024 are too long, 128, 256, 131 with the three long ones are too long, 17, 33 and so on.
  const all = await readsOf('long')
  expect(all).toBeGreaterThan(3)
  const again = await readsOf('long')
  expect([again < all, again]).toEqual([true, await readsOf('long')])
  for (let account = 0; account < 40; account++) database.insert(`${account}`, half)
  for (let account = 0; account < 32; account++) await readsOf(`${account}`)
  expect([await readsOf('0'), await readsOf('32'), await readsOf('0'), await readsOf('1')]).toEqual([0, 1, 0, 1])
})

test('requests of one turn share a statement for their versions, and what they read', async () => {
  const database = createDatabase()
  const { list } = createServer(database)
  database.insert('alice', 'a')
  database.insert('bob', 'b')
  const lists = ['alice', 'bob', 'alice', 'alice'].map((account) => list(account))
  expect(await Promise.all(lists)).toEqual([['a'], ['b'], ['a'], ['a']])
  expect(database.counts).toEqual({ states: 1, reads: 2 })
  await Promise.all(Array.from({ length: 3 }, () => list('bob', { limit: 5 })))
  expect(database.counts.reads).toBe(3)
})

test('accounts take turns in reading, however many lists one of them reads', async () => {
  const database = createDatabase(100)
  const { read } = database.plants
  let now = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  onTestFinished(() => clock.mockRestore())
  const reads: string[] = []
  database.plants.read = (account, range) => {
    // As if it took a millisecond.
    now++
    reads.push(account)
    return read(account, range)
  }
  const { list } = createServer(database)
  for (const account of ['alice', 'bob']) database.insert(account, ...Array(3).fill('x'.repeat(60)))
  // Each begins after a `seq` that no plant has, so that its first piece is its own.
  const lists = Array.from({ length: 400 }, (_, index) => list('alice', { after: -1 - index }))
  expect(await Promise.race([list('bob'), lists.at(-1)])).toHaveLength(3)
  const alone = reads.filter((account) => account === 'bob').length
  expect(reads.length).toBeLessThan(10 * alone)
  await Promise.all(lists)
})

test('a list in pieces has a tag only if none was changed while it was read, and is sent as it was read', async () => {
  const names = ['x', 'y', 'z'].map((letter) => letter.repeat(40))
  const textOf = (all: readonly string[]) => JSON.stringify(all.map((name) => ({ name })))
  const versions = new Set<string | undefined>()
  for (const change of ['insert', 'rename'] as const) {
    for (let at = 1; at < 10; at++) {
      let reads = 0
      const database = createDatabase(50, async () => {
        if (++reads === at) database[change]('alice', 'changed')
      })
      const { get, list } = createServer(database)
      database.insert('alice', ...names)
      const { version, text } = await get('alice')
      const changed = database.rowsOf('alice').map(({ name }) => name)
      if (version !== undefined) expect(text).toBe(textOf(version === 'version-1' ? names : changed))
      versions.add(version)
      // Another client has a new list cached before this one is sent.
      const sent = get('alice', {}, [], async () => {
        database[change]('alice', 'later')
        await list('alice')
      })
      if (change === 'insert') expect(namesOf((await sent).text)).toEqual(changed)
      else await expect(sent).rejects.toThrow('was changed while it was sent')
    }
  }
  expect(versions).toEqual(new Set([undefined, 'version-1', 'version-2']))
})

test('after any changes, restores and crashes, on each of two servers, no list is older than its request, and its tag names no other', async () => {
  const changes = ['insert', 'insert', 'rename', 'remove', 'save', 'restore', 'forget']
  const action = fc.constantFrom(...changes, ...Array<string>(6).fill('list'), ...Array<string>(3).fill('part'))
  const steps = fc.array(fc.record({ action, count: fc.integer({ min: 1, max: 4 }) }), { maxLength: 40, size: 'max' })
  const turns = fc.infiniteStream(fc.constantFrom(0, 0, 1, 2, 4))
  await fc.assert(
    fc.asyncProperty(steps, fc.constantFrom(0, 50, 1_000), turns, async (actions, maxBytes, delays) => {
      const wait = async () => {
        for (let left: number = delays.next().value; left > 0; left--) await nextTurn()
      }
      const database = createDatabase(maxBytes, wait)
      const servers = [createServer(database), createServer(database)] as const
      const history: (readonly Row[])[] = [[]]
      /** What each version has named. */
      const texts = new Map<string, string>()
      let names = 0
      let saved = database.save()
      /**
       * Expects all plants that were there from the request to the response, in order, and none that never was; and of
       * a client that has all lists until then, that it has just this one where no text is sent.
       */
      const check = async (server: number, begin: number, selection: Selection) => {
        const known = server > 2 ? [] : [...texts.keys()].map((name) => name.split(' ').at(-1) ?? '')
        const { text, version, end, more } = await servers[server % 2 === 0 ? 0 : 1].get('alice', selection, known)
        const states = history.slice(begin)
        const name = `${JSON.stringify(selection)} ${version}`
        const isSent = text !== '[]' || version === undefined
        const list = namesOf(isSent ? text : (texts.get(name) ?? text))
        if (version !== undefined && isSent) {
          expect(texts.get(name) ?? text).toBe(text)
          texts.set(name, text)
        }
        const seqs = list.map((name) => states.flat().find((row) => row.name === name)?.seq)
        expect(seqs).toEqual([...new Set(seqs)].sort((one, other) => Number(one) - Number(other)))
        expect(seqs).not.toContain(undefined)
        const { after = 0 } = selection ?? {}
        const always = states.reduce((kept, rows) => kept.filter((row) => rows.includes(row)))
        const expected = always.filter(({ seq }) => seq > after && (!more || seq <= end))
        expect(list).toEqual(expect.arrayContaining(expected.map(({ name }) => name)))
      }
      const checks: Promise<void>[] = []
      for (const { action, count } of actions) {
        if (action === 'insert') database.insert('alice', ...Array.from({ length: count }, () => `${++names}`))
        if (action === 'rename') database.rename('alice', `${++names}`)
        if (action === 'remove') database.remove('alice')
        if (action === 'save') saved = database.save()
        if (action === 'restore') database.restore(saved)
        if (action === 'forget') database.forgetVersion('alice')
        history.push(database.rowsOf('alice'))
        const selection = action === 'part' ? { after: count - 1, limit: count < 4 ? 2 * count : undefined } : undefined
        if (selection || action === 'list') {
          const begin = history.length - 1
          const checked = check(count, begin, selection).catch((error) => acceptBreak(error, history.slice(begin)))
          checks.push(checked)
          checked.catch(() => {})
        }
        if (count === 1) await nextTurn()
      }
      await Promise.all(checks)
      const stored = database.rowsOf('alice').map(({ name }) => name)
      expect(await Promise.all(servers.map(({ list }) => list('alice')))).toEqual([stored, stored])
    }),
    { numRuns: runs(600) },
  )
})

/** Rethrows an error, unless it is that of a list of which sent plants were changed: creating others breaks none. */
function acceptBreak(error: unknown, states: readonly (readonly Row[])[]): void {
  const isKept = (rows: readonly Row[], index: number) => rows.every((row, at) => states[index + 1]?.[at] === row)
  if (!(error instanceof HttpError) || states.slice(0, -1).every(isKept)) throw error
}
