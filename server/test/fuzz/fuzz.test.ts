/**
 * Requests of all kinds, most of them mutated, against a model of what an account has. The conformance suite of the
 * client has those that the contract allows, of every operation, and pages.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { runs } from '../../../test/helpers/long-tests.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import * as wires from '../helpers/connection.ts'
import { listPlants } from '../helpers/requests.ts'
import { expectWellFormed } from '../helpers/wire.ts'
import { createRequest, type ModelPlant, mutate, mutateHttp, type Step, steps, writeBody } from './requests.ts'

const RUNS = runs(15)
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
  let connection: wires.Connection | undefined

  /** Stores a plant. Returns its JSON, or the number of the error if the account has another one with this id. */
  function store(plant: ModelPlant): string | number {
    const same = stored.find(({ id }) => id === plant.id)
    if (!same) stored.push(plant)
    return same && toBody(same) !== toBody(plant) ? 40003 : toBody(plant)
  }

  /** Sends a well-formed request, and expects the JSON of a plant or a list, or the number of an error. */
  async function exchange(wire: string, expected: string | number): Promise<void> {
    if (!connection || connection.socket.closed) connection = await wires.openConnection(server.url)
    const response = await connection.send(wire).catch((cause) => {
      throw new Error(shorten(wire), { cause })
    })
    expectWellFormed(response)
    if (response.headers.get('connection') === 'close') connection = undefined
    const body = JSON.parse(response.body)
    expect(body.error ?? JSON.stringify(body), shorten(wire)).toBe(expected)
  }

  for (const each of sequence) {
    if (each[0] === 'list') await exchange(listPlants(token), `[${stored.map(toBody)}]`)
    else if (each[0] === 'create') {
      const [, any, spelling, [members, bytes], again] = each
      const known = again && stored[again.index % stored.length]
      const body = mutate(writeBody(known ? { ...known, ...again.change } : any, spelling, members), bytes)
      const plant = predict(body)
      await exchange(createRequest(token, body, spelling.chunk), typeof plant === 'number' ? plant : store(plant))
    } else {
      // Mostly not HTTP: the responses are errors, plants that were sent, or lists of such.
      const [, plant, spelling, change] = each
      if (plant) sent.add(toBody(plant))
      const body = plant && writeBody(plant, { ...spelling, id: 9 })
      const wire = body ? createRequest(malformedToken, body, change.chunk) : listPlants(malformedToken, '?limit=3')
      const mutated = mutateHttp(wire, change)
      const text = await wires.exchange(server.url, mutated, PATIENCE)
      for (const response of wires.readResponses(text, /^\s*HEAD /.test(mutated))) {
        expectWellFormed(response)
        expect(response.status, shorten(mutated)).toBeLessThan(500)
        const received = response.status === 200 && response.body !== '' ? [JSON.parse(response.body)].flat() : []
        for (const each of received) expect(sent, shorten(mutated)).toContain(JSON.stringify(each))
      }
    }
  }
  await exchange(listPlants(token), `[${stored.map(toBody)}]`)
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
