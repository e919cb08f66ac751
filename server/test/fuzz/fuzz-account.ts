import { setImmediate as nextTurn } from 'node:timers/promises'
import { errorCatalogue } from '@plant-store/contract'
import { type Connection, openConnection } from '../helpers/wire/connection.ts'
import type { WireResponse } from '../helpers/wire/responses.ts'
import { createPlantModel, type ModelPlant, toBody } from './plant-model.ts'
import type { Random } from './random.ts'
import { readBody } from './read-body.ts'
import { mutateBody } from './requests/mutate-body.ts'
import { mutateHttp } from './requests/mutate-http.ts'
import { randomPlant, writeBody } from './requests/write-body.ts'
import { createRequest, inChunks, plantsRequest, type RawRequest, writeRequest } from './requests/write-request.ts'
import type { AccountTokens } from './start-fuzzed-server.ts'

/** Much longer than any response takes, in milliseconds. */
const RESPONSE_TIMEOUT = 20_000
/** A request without a response by then may be incomplete, so the client ends its side; in milliseconds. */
const PATIENCE = 250
/** The longest idle time of a connection, in milliseconds: its close could cross a request. */
const IDLE_LIMIT = 2_000
const ERROR_CODES: ReadonlySet<unknown> = new Set(Object.values(errorCatalogue).map(({ code }) => code))
const MAX_PAGE = 50

/** Where to send requests, and how to choose them. */
export interface FuzzOptions {
  url: string
  tokens: AccountTokens
  random: Random
  /** The largest body the server takes, in bytes. */
  bodyLimit: number
}

/** What a response must be. */
interface Expected {
  status: number
  /** The number of the Error body. */
  error?: number
  /** The JSON of a plant or a list. */
  json?: string
}

/** A client that sends requests of all kinds for one account and compares each response with a model. */
export interface AccountFuzzer {
  /** The number of requests so far. */
  readonly sent: number
  /** Sends the next request, or two.
   *
   * @throws Error if a response differs from the model.
   */
  step(): Promise<void>
  /** Compares the whole list and closes the connection. */
  finish(): Promise<void>
}

/** Creates the client of an account that no other client writes to. */
export function createAccountFuzzer({ url, tokens, random, bodyLimit }: FuzzOptions): AccountFuzzer {
  const model = createPlantModel()
  let connection: Connection | undefined
  let lastUse = 0
  let sent = 0
  let page: { target: string; position: number; limit: number } | undefined

  async function open(): Promise<Connection> {
    const idle = performance.now() - lastUse
    lastUse = performance.now()
    if (connection && !connection.ended && idle < IDLE_LIMIT) return connection
    connection?.socket.destroy()
    connection = await openConnection(url)
    return connection
  }

  /** Sends well-formed requests together and checks all responses. */
  async function exchange(...pairs: [RawRequest, Expected][]): Promise<WireResponse[]> {
    const bytes = Buffer.concat(pairs.map(([request]) => writeRequest(request)))
    const current = await open()
    sent += pairs.length
    const cut = random.percent(10) ? random.integer(1, bytes.length) : bytes.length
    current.socket.write(bytes.subarray(0, cut))
    if (cut < bytes.length) {
      await nextTurn()
      current.socket.write(bytes.subarray(cut))
    }
    const responses: WireResponse[] = []
    for (const [{ method }, expected] of pairs) {
      const response = await current.read({ toHead: method === 'HEAD', timeout: RESPONSE_TIMEOUT })
      if (response === undefined || response === 'waiting') throw mismatch(response ?? 'closed', bytes, expected)
      if (!isAsExpected(response, expected, method)) throw mismatch(response, bytes, expected)
      responses.push(response)
      if (response.headers.get('connection') === 'close') connection = undefined
    }
    if (!connection) current.socket.destroy()
    return responses
  }

  /** Builds the request that creates a plant from a body, and its expected response. */
  function creation(body: Uint8Array): [RawRequest, Expected] {
    const plant = readBody(body)
    const request = createRequest(tokens.both, body)
    const framed = random.percent(15) ? inChunks(request, random.integer(1, 100)) : request
    if (typeof plant === 'number') return [framed, { status: 400, error: plant }]
    return [framed, model.create(plant) ? stored(plant) : { status: 400, error: 40003 }]
  }

  function written(plant: ModelPlant): Buffer {
    return Buffer.from(writeBody(random, plant))
  }

  function known(): ModelPlant {
    return model.plants.length > 0 ? random.pick(model.plants) : randomPlant(random)
  }

  const list = () => JSON.stringify(model.plants.map(toBody))

  async function readPage(): Promise<void> {
    const { target, position, limit } = page ?? firstPage()
    const expected = model.plants.slice(position, position + limit).map(toBody)
    const request = plantsRequest(tokens.readOnly, { target })
    const [response] = await exchange([request, { status: 200, json: JSON.stringify(expected) }])
    const link = /^<([^>]*)>; rel="next"$/.exec(response?.headers.get('link') ?? '')?.[1]
    const more = model.plants.length > position + limit
    if ((link !== undefined) !== more) throw mismatch(response ?? 'closed', writeRequest(request), { status: 200 })
    page = link === undefined ? undefined : { target: `/plants${link}`, position: position + limit, limit }
  }

  function firstPage() {
    const limit = random.integer(1, MAX_PAGE)
    return { target: `/plants?limit=${limit}`, position: 0, limit }
  }

  /** Builds a request that is well-formed HTTP and invalid for exactly one reason. */
  function rejected(): [RawRequest, Expected] {
    const body = written(randomPlant(random))
    const request = createRequest(tokens.both, body)
    const other = (name: string, value: string): RawRequest => ({
      ...request,
      headers: request.headers.map(([each, old]) => [each, each === name ? value : old]),
    })
    return random.pick<() => [RawRequest, Expected]>([
      () => [
        { ...request, target: '/plant' },
        { status: 404, error: 40400 },
      ],
      () => [
        { ...request, method: 'DELETE' },
        { status: 405, error: 40500 },
      ],
      () => [other('Authorization', 'Basic eDp5'), { status: 401, error: 40101 }],
      () => [other('Authorization', `Bearer ${tokens.both}x`), { status: 401, error: 40102 }],
      () => [createRequest(tokens.readOnly, body), { status: 403, error: 40301 }],
      () => [other('Content-Length', String(bodyLimit + 1)), { status: 413, error: 41300 }],
      () => [other('Content-Type', 'text/plain'), { status: 415, error: 41500 }],
      () => [plantsRequest(tokens.both, { target: '/plants?limit=0' }), { status: 400, error: 40004 }],
    ])()
  }

  /** Sends what is mostly not HTTP, and expects errors, or the response to the original request. */
  async function sendMalformed(): Promise<void> {
    const plant = random.percent(70) ? randomPlant(random) : undefined
    const request = plant
      ? createRequest(tokens.both, written(plant))
      : plantsRequest(tokens.both, { target: '/plants?limit=3' })
    const bytes = mutateHttp(random, request)
    const responses = await sendAndEnd(bytes)
    const invalid = responses.find((response) => !isErrorOrExpected(response, plant))
    if (invalid) throw mismatch(invalid, bytes)
    if (!plant) return
    if (responses.some(({ status, body }) => status === 200 && body === JSON.stringify(toBody(plant)))) {
      if (!model.create(plant)) throw mismatch('200, though the id exists', bytes)
    } else if (responses.length === 0) {
      // It may be stored or not: a retry is safe, and stores it.
      await exchange(creation(Buffer.from(writeBody(random, plant))))
    }
  }

  /** Sends bytes and reads all responses until the server closes the connection. */
  async function sendAndEnd(bytes: Buffer): Promise<WireResponse[]> {
    const current = await open()
    const toHead = /^\s*HEAD /.test(bytes.toString('latin1'))
    const responses: WireResponse[] = []
    connection = undefined
    sent++
    current.socket.write(bytes)
    for (let ended = false; ; ) {
      const response = await current.read({ toHead, timeout: ended ? RESPONSE_TIMEOUT : PATIENCE })
      if (response === undefined) break
      if (response === 'waiting' && ended) throw mismatch(response, bytes)
      if (response !== 'waiting') responses.push(response)
      if (!ended) current.socket.end()
      ended = true
    }
    current.socket.destroy()
    return responses
  }

  function isErrorOrExpected(response: WireResponse, plant: ModelPlant | undefined): boolean {
    const { status, body } = response
    if (status === 204 || (body === '' && !response.headers.has('content-type'))) return status < 300
    // A response to HEAD.
    if (body === '') return status < 500
    if (status >= 400) return status < 500 && isError(response)
    if (status !== 200) return false
    if (plant && body === JSON.stringify(toBody(plant))) return true
    const plants: unknown[] = JSON.parse(body)
    return Array.isArray(plants) && list().startsWith(body.slice(0, -1))
  }

  return {
    get sent() {
      return sent
    },
    async step() {
      const choice = random.integer(1, 100)
      if (choice <= 25) return void (await exchange(creation(written(randomPlant(random)))))
      if (choice <= 30) return void (await exchange(creation(written(known()))))
      if (choice <= 35) return void (await exchange(creation(written({ ...known(), name: 'another' }))))
      if (choice <= 40) {
        const pair = [randomPlant(random), randomPlant(random)].map((plant) => creation(written(plant)))
        return void (await exchange(...pair))
      }
      if (choice <= 42) return void (await exchange([plantsRequest(tokens.readOnly), { status: 200, json: list() }]))
      if (choice <= 48) return readPage()
      if (choice <= 55) return void (await exchange(rejected()))
      if (choice <= 85) return void (await exchange(creation(mutateBody(random, randomPlant(random)))))
      return sendMalformed()
    },
    async finish() {
      await exchange([plantsRequest(tokens.both), { status: 200, json: list() }])
      connection?.socket.destroy()
    },
  }
}

function stored(plant: ModelPlant): Expected {
  return { status: 200, json: JSON.stringify(toBody(plant)) }
}

function isAsExpected(response: WireResponse, { status, error, json }: Expected, method: string): boolean {
  if (response.status !== status) return false
  if (method === 'HEAD') return true
  if (error !== undefined) return isError(response) && JSON.parse(response.body).error === error
  return json === undefined || JSON.stringify(JSON.parse(response.body)) === json
}

function isError({ status, headers, body }: WireResponse): boolean {
  const parsed = JSON.parse(body)
  return (
    headers.get('content-type') === 'application/json; charset=utf-8' &&
    Object.keys(parsed).join() === 'error,message' &&
    ERROR_CODES.has(parsed.error) &&
    Math.floor(parsed.error / 100) === status &&
    typeof parsed.message === 'string' &&
    parsed.message.length < 1_000
  )
}

function mismatch(response: WireResponse | string, bytes: Buffer, expected?: Expected): Error {
  const shown = typeof response === 'string' ? response : `${response.status} ${response.body.slice(0, 2_000)}`
  const wanted = expected ? `, not ${JSON.stringify(expected).slice(0, 2_000)}` : ''
  return new Error(`responded ${shown}${wanted}, to ${JSON.stringify(bytes.toString('latin1')).slice(0, 4_000)}`)
}
