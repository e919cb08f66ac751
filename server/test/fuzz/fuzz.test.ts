/** Requests of all kinds, most of them mutated, against a model of what an account has. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isLong, isNightly } from '../../../test/helpers/long-tests.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import {
  type Connection,
  exchange as exchangeBytes,
  openConnection,
  readResponses,
  type WireResponse,
} from '../helpers/wire/connection.ts'
import { listPlants } from '../helpers/wire/requests.ts'
import { expectWellFormed } from '../helpers/wire/wire.ts'
import { createRequest, type ModelPlant, mutate, mutateHttp, type Step, steps, writeBody } from './requests.ts'

const RUNS = isNightly ? 300 : isLong ? 40 : 5
const ACCOUNTS = 8
const STEPS = 40
/** A request may be incomplete, so the client ends its side of the connection after a time, in milliseconds. */
const PATIENCE = 100
const INT64 = [-(2n ** 63n), 2n ** 63n - 1n] as const

test('valid and mutated requests get the responses that the model predicts, without a 5xx or a hang', async () => {
  await using server = await startTestServer()
  const seed = Number(process.env['PLANT_STORE_FUZZ_SEED'] || Math.floor(Math.random() * 2 ** 31))
  console.log(`PLANT_STORE_FUZZ_SEED=${seed} sends these requests again.`)
  let account = 0
  const sequences = fc.array(steps, { minLength: STEPS, maxLength: STEPS })
  await fc.assert(
    fc.asyncProperty(fc.array(sequences, { minLength: ACCOUNTS, maxLength: ACCOUNTS }), async (all) => {
      await Promise.all(all.map((each) => useAccount(server, `account ${++account}`, each)))
    }),
    { numRuns: RUNS, seed, endOnFailure: true },
  )
}, 600_000)

/** Sends requests for an account that nothing else writes to, and compares each response with a model. */
async function useAccount(server: TestServer, account: string, sequence: Step[]): Promise<void> {
  const { token } = await server.createToken({ account })
  const { token: malformedToken } = await server.createToken({ account: `malformed ${account}` })
  /** In order of creation. */
  const stored: ModelPlant[] = []
  /** The plants of malformed requests, which may be stored or not. */
  const sent = new Set<string>()
  let connection: Connection | undefined
  let page: string | undefined
  /** How many plants the pages so far have listed. */
  let seen = 0

  const listed = (from = 0, to?: number) => `[${stored.slice(from, to).map(toBody).join()}]`

  /** Returns whether the account now has the plant; false if it has another one with this id. */
  function store(plant: ModelPlant): boolean {
    const same = stored.find(({ id }) => id === plant.id)
    if (!same) stored.push(plant)
    return !same || toBody(same) === toBody(plant)
  }

  /** Sends a well-formed request, and expects the JSON of a plant or a list, or the number of an error. */
  async function exchange(wire: string, expected: string | number): Promise<WireResponse> {
    if (!connection || connection.socket.closed) connection = await openConnection(server.url)
    const response = await connection.send(wire).catch((cause) => {
      throw new Error(shorten(wire), { cause })
    })
    expectWellFormed(response)
    const body = JSON.parse(response.body)
    expect(body.error ?? JSON.stringify(body), shorten(wire)).toBe(expected)
    if (response.headers.get('connection') === 'close') connection = undefined
    return response
  }

  /** Sends the request that creates a plant from a body. */
  function create(body: Buffer, chunk: number | null = null): Promise<WireResponse> {
    const plant = predict(body)
    const wire = createRequest(token, body, chunk)
    if (typeof plant === 'number') return exchange(wire, plant)
    return exchange(wire, store(plant) ? toBody(plant) : 40003)
  }

  const list = () => exchange(listPlants(token), listed())

  async function readPage(limit: number): Promise<void> {
    if (page === undefined) seen = 0
    const size = Number(/limit=(\d+)/.exec(page ?? '')?.[1] ?? limit)
    const query = page ?? `?limit=${size}`
    const { headers } = await exchange(listPlants(token, query), listed(seen, seen + size))
    seen = Math.min(seen + size, stored.length)
    page = /^<([^>]*)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]
    expect(page !== undefined, 'a page has a link if more plants follow').toBe(seen < stored.length)
  }

  /** Sends what is mostly not HTTP, and expects errors, plants that were sent, or lists of such. */
  async function sendMalformed(wire: string): Promise<void> {
    const text = await exchangeBytes(server.url, wire, PATIENCE)
    for (const response of readResponses(text, /^\s*HEAD /.test(wire))) {
      expectWellFormed(response)
      const { status, body } = response
      expect(status, shorten(wire)).toBeLessThan(500)
      if (status !== 200 || body === '') continue
      for (const plant of [JSON.parse(body)].flat()) expect(sent, shorten(wire)).toContain(JSON.stringify(plant))
    }
  }

  for (const each of sequence) {
    if (each[0] === 'list') await list()
    else if (each[0] === 'page') await readPage(each[1])
    else if (each[0] === 'create') await create(writeBody(each[1], each[2]), each[2].chunk)
    else if (each[0] === 'body') await create(mutate(writeBody(each[1], each[2], each[3]), each[4]))
    else if (each[0] === 'again') {
      const [, index, spelling, change] = each
      const known: ModelPlant = stored[index % stored.length] ?? { id: 1n, name: '' }
      await create(writeBody({ ...known, ...change }, spelling))
    } else {
      const [, plant, spelling, change] = each
      if (plant) sent.add(toBody(plant))
      const body = plant && writeBody(plant, { ...spelling, id: 9 })
      const wire = body ? createRequest(malformedToken, body, change.chunk) : listPlants(malformedToken, '?limit=3')
      await sendMalformed(mutateHttp(wire, change))
    }
  }
  await list()
  connection?.socket.destroy()
}

/** Writes what a client sees of a plant. */
function toBody({ name, tag }: ModelPlant): string {
  return JSON.stringify({ name, tag })
}

function shorten(wire: string): string {
  return JSON.stringify(wire).slice(0, 4_000)
}

/**
 * Reads a body by the rules of the contract, in another way than the server: `JSON.parse` decides what is JSON, and its
 * reviver sees the text of the id. Of duplicate keys it keeps one, so there are more in the text.
 *
 * @returns the plant, or the number of the error
 */
function predict(bytes: Buffer): ModelPlant | 40001 | 40002 {
  let text: string
  let value: unknown
  // The whole value counts as a member, too.
  let members = -1
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    value = JSON.parse(
      text,
      function revive(this: unknown, _key: string, value: unknown, context?: { source: string }) {
        if (!Array.isArray(this)) members++
        return typeof value === 'number' ? (exactInteger(context?.source ?? '') ?? null) : value
      },
    )
  } catch {
    return 40001
  }
  const keys = text.match(/"(?:[^"\\]|\\.)*"\s*:/g) ?? []
  if (keys.length > members) return 40001
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 40002
  const { id, name, tag } = value as Record<string, unknown>
  if (typeof id !== 'bigint' || id < INT64[0] || id > INT64[1]) return 40002
  if (!isText(name) || !(isText(tag) || !Object.hasOwn(value, 'tag'))) return 40002
  return { id, name, tag: tag as string | undefined }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && !/[\0\ud800-\udfff]/u.test(value)
}

/** Returns the value of a JSON number; undefined if it is not an integer or is far beyond int64. */
function exactInteger(literal: string): bigint | undefined {
  const [, sign, whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal) ?? []
  const digits = whole + fraction
  if (/^0*$/.test(digits)) return 0n
  const length = whole.length + Number(exponent)
  if (length > 10_000 || /[1-9]/.test(digits.slice(Math.max(0, length)))) return undefined
  return BigInt(sign + digits.slice(0, length).padEnd(length, '0'))
}
