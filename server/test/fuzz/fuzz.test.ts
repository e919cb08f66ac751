/** Requests of all kinds, most of them mutated, against a model of what an account has. */
import { errorCatalogue } from '@plant-store/contract'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isLong, isNightly } from '../../../test/helpers/long-tests.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { MAX_DEPTH } from '../../src/http/exact-json.ts'
import {
  type Connection,
  exchange as exchangeBytes,
  openConnection,
  readResponses,
  type WireResponse,
} from '../helpers/wire/connection.ts'
import { listPlants } from '../helpers/wire/requests.ts'
import { expectWellFormed } from '../helpers/wire/wire.ts'
import {
  createRequest,
  httpChanges,
  type ModelPlant,
  memberMutations,
  mutate,
  mutateHttp,
  mutations,
  plants,
  spellings,
  writeBody,
} from './requests.ts'

const RUNS = isNightly ? 300 : isLong ? 40 : 5
const ACCOUNTS = 8
const STEPS = 40
/** A request may be incomplete, so the client ends its side of the connection after a time, in milliseconds. */
const PATIENCE = 100
const INT64 = [-(2n ** 63n), 2n ** 63n - 1n] as const
const ERROR_CODES: ReadonlySet<unknown> = new Set(Object.values(errorCatalogue).map(({ code }) => code))

const members = fc.option(memberMutations, { nil: [] })
const bytes = fc.option(mutations, { nil: [] })
const somePlants: fc.Arbitrary<ModelPlant | null> = fc.option(plants, { freq: 3 })
const kind = <const Kind extends string>(name: Kind) => fc.constant(name)
const change = fc.constantFrom({}, { name: 'another' }, { tag: 'another' })
const step = fc.oneof(
  { weight: 25, arbitrary: fc.tuple(kind('create'), plants, spellings) },
  { weight: 10, arbitrary: fc.tuple(kind('again'), fc.nat(), spellings, change) },
  { weight: 30, arbitrary: fc.tuple(kind('body'), plants, spellings, members, bytes) },
  { weight: 3, arbitrary: fc.tuple(kind('list')) },
  { weight: 6, arbitrary: fc.tuple(kind('page'), fc.integer({ min: 1, max: 20 })) },
  { weight: 15, arbitrary: fc.tuple(kind('http'), somePlants, spellings, httpChanges) },
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

test('valid and mutated requests get the responses that the model predicts, without a 5xx or a hang', async () => {
  await using server = await startTestServer()
  const seed = Number(process.env['PLANT_STORE_FUZZ_SEED'] || Math.floor(Math.random() * 2 ** 31))
  console.log(`PLANT_STORE_FUZZ_SEED=${seed} sends these requests again.`)
  let account = 0
  const sequences = fc.array(step, { minLength: STEPS, maxLength: STEPS })
  await fc.assert(
    fc.asyncProperty(fc.array(sequences, { minLength: ACCOUNTS, maxLength: ACCOUNTS }), async (all) => {
      await Promise.all(all.map((each) => useAccount(server, `account ${++account}`, each)))
    }),
    { numRuns: RUNS, seed, endOnFailure: true },
  )
}, 600_000)

/** Sends requests for an account that nobody else writes to, and compares each response with a model. */
async function useAccount(server: TestServer, account: string, sequence: Step[]): Promise<void> {
  const { token } = await server.createToken({ account })
  /** In order of creation. */
  const stored: (ModelPlant & { number: number })[] = []
  let created = 0
  let connection: Connection | undefined
  let page: string | undefined
  /** The number of the last plant of the page before. */
  let last = 0

  const after = (number: number) => stored.filter((plant) => plant.number > number)
  const listed = (plants = stored) => JSON.stringify(plants.map(toBody))

  /** Returns whether the account now has the plant; false if it has another one with this id. */
  function store(plant: ModelPlant): boolean {
    const same = stored.find(({ id }) => id === plant.id)
    if (!same) stored.push({ ...plant, number: ++created })
    return !same || (same.name === plant.name && same.tag === plant.tag)
  }

  /** Sends a well-formed request, and expects the JSON of a plant or a list, no content, or the number of an error. */
  async function exchange(wire: string, expected: string | number): Promise<WireResponse> {
    if (!connection || connection.socket.closed) connection = await openConnection(server.url)
    const response = await connection.send(wire).catch((error) => {
      throw mismatch(error.message, wire, expected)
    })
    expectWellFormed(response)
    const body = response.body === '' ? undefined : JSON.parse(response.body)
    if ((body?.error ?? JSON.stringify(body) ?? '') !== expected) throw mismatch(response, wire, expected)
    if (response.headers.get('connection') === 'close') connection = undefined
    return response
  }

  /** Sends the request that creates a plant from a body. */
  function create(body: Buffer, chunk: number | null = null): Promise<WireResponse> {
    const plant = predict(body)
    const wire = createRequest(token, body, chunk)
    if (typeof plant === 'number') return exchange(wire, plant)
    return exchange(wire, store(plant) ? JSON.stringify(toBody(plant)) : 40003)
  }

  const list = () => exchange(listPlants(token), listed())

  async function readPage(limit: number): Promise<void> {
    if (page === undefined) last = 0
    const size = Number(/limit=(\d+)/.exec(page ?? '')?.[1] ?? limit)
    const expected = after(last).slice(0, size)
    const { headers } = await exchange(listPlants(token, page ?? `?limit=${size}`), listed(expected))
    last = expected.at(-1)?.number ?? last
    page = /^<([^>]*)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]
    expect(page !== undefined, 'a page has a link if more plants follow').toBe(after(last).length > 0)
  }

  /** Sends what is mostly not HTTP, and expects errors, or the response to the original request. */
  async function sendMalformed(wire: string, plant: ModelPlant | null, body: Buffer): Promise<void> {
    const created = plant && JSON.stringify(toBody(plant))
    const responses = await sendAndEnd(wire)
    for (const response of responses) {
      const isCreated = response.status === 200 && response.body === created
      if (!isCreated && !isErrorOrList(response)) throw mismatch(response, wire)
    }
    if (!plant) return
    if (responses.some((response) => response.status === 200 && response.body === created)) {
      if (!store(plant)) throw mismatch('200, though the id exists', wire)
      // It may be stored or not: a retry is safe, and stores it.
    } else if (responses.length === 0) await create(body)
  }

  function isErrorOrList(response: WireResponse): boolean {
    const { status, body, headers } = response
    if (status === 204 || (body === '' && !headers.has('content-type'))) return status < 300
    // A response to HEAD.
    if (body === '') return status < 500
    if (status !== 200) return status < 500 && ERROR_CODES.has(JSON.parse(body).error)
    return Array.isArray(JSON.parse(body)) && listed().startsWith(body.slice(0, -1))
  }

  /** Sends bytes on a connection of their own and reads all responses until the server closes it. */
  async function sendAndEnd(wire: string): Promise<WireResponse[]> {
    const responses = readResponses(await exchangeBytes(server.url, wire, PATIENCE), /^\s*HEAD /.test(wire))
    for (const response of responses) expectWellFormed(response)
    return responses
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
      const body = plant ? writeBody(plant, { ...spelling, id: 9 }) : Buffer.alloc(0)
      const wire = plant ? createRequest(token, body, change.chunk) : listPlants(token, '?limit=3')
      await sendMalformed(mutateHttp(wire, change), plant, body)
    }
  }
  await list()
  connection?.socket.destroy()
}

function toBody({ name, tag }: ModelPlant): { name: string; tag?: string } {
  return tag === undefined ? { name } : { name, tag }
}

function mismatch(response: WireResponse | string, wire: string, expected: unknown = 'an error or a list'): Error {
  const shown = typeof response === 'string' ? response : `${response.status} ${response.body.slice(0, 2_000)}`
  const wanted = String(expected).slice(0, 2_000)
  return new Error(`responded ${shown}, not ${wanted}, to ${JSON.stringify(wire).slice(0, 4_000)}`)
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
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    value = JSON.parse(text, reviveId)
  } catch {
    return 40001
  }
  const strings = text.match(/"(?:[^"\\]|\\.)*"(?:\s*:)?/g) ?? []
  const { keys, depth } = survey(value)
  if (strings.filter((string) => string.endsWith(':')).length > keys || depth > MAX_DEPTH) return 40001
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 40002
  const { id: own, name, tag } = value as Record<string, unknown>
  const id = own instanceof Literal ? exactInteger(own.text) : undefined
  if (id === undefined || id < INT64[0] || id > INT64[1]) return 40002
  if (!isText(name) || !(isText(tag) || !Object.hasOwn(value, 'tag'))) return 40002
  return { id, name, tag: Object.hasOwn(value, 'tag') ? (tag as string) : undefined }
}

/** A number of a JSON text, as it is written. */
class Literal {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

function reviveId(this: unknown, _key: string, value: unknown, context?: { source: string }): unknown {
  return typeof value === 'number' ? new Literal(context?.source ?? '') : value
}

function survey(value: unknown): { keys: number; depth: number } {
  if (typeof value !== 'object' || value === null || value instanceof Literal) return { keys: 0, depth: 0 }
  const members = Object.values(value).map(survey)
  const own = Array.isArray(value) ? 0 : members.length
  return {
    keys: members.reduce((sum, { keys }) => sum + keys, own),
    depth: 1 + Math.max(0, ...members.map(({ depth }) => depth)),
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && !/[\0\ud800-\udfff]/u.test(value)
}

/** Returns the value of a JSON number; undefined if it is not an integer or is far beyond int64. */
function exactInteger(literal: string): bigint | undefined {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal) ?? []
  const digits = whole + fraction
  if (/^0*$/.test(digits)) return 0n
  const shift = Number(exponent) - fraction.length
  if (Math.abs(shift) > 10_000) return undefined
  const scaled = BigInt(digits) * (shift > 0 ? 10n ** BigInt(shift) : 1n)
  const divisor = shift < 0 ? 10n ** BigInt(-shift) : 1n
  if (scaled % divisor !== 0n) return undefined
  return (scaled / divisor) * (sign === '-' ? -1n : 1n)
}
