import { setImmediate as nextTurn } from 'node:timers/promises'
import { errorCatalogue } from '@plant-store/contract'
import { type Connection, openConnection } from '../helpers/wire/connection.ts'
import type { RawAnswer } from './parse-answer.ts'
import { answered, createPlantModel, type ModelPlant } from './plant-model.ts'
import type { Random } from './random.ts'
import { readBody } from './read-body.ts'
import { mutateBody } from './requests/mutate-body.ts'
import { mutateHttp } from './requests/mutate-http.ts'
import { randomPlant, writeBody } from './requests/write-body.ts'
import { createRequest, inChunks, plantsRequest, type RawRequest, writeRequest } from './requests/write-request.ts'
import type { AccountTokens } from './start-fuzzed-server.ts'

/** No answer takes nearly as long, in milliseconds. */
const LIMIT = 20_000
/** What has not been answered by then may be incomplete: the server is told that nothing more comes. */
const PATIENCE = 250
/** The server closes a connection that has been idle for longer, in milliseconds, and a request may cross that. */
const IDLE_LIMIT = 2_000
const ERROR_CODES: ReadonlySet<unknown> = new Set(Object.values(errorCatalogue).map(({ code }) => code))
const MAXIMUM_PAGE = 50

/** Whom to send requests to, in which way. */
export interface FuzzOptions {
  url: string
  tokens: AccountTokens
  random: Random
  /** The largest body the server takes, in bytes. */
  bodyLimit: number
}

/** What an answer has to be. */
interface Expected {
  status: number
  /** The number of the Error body, where it has to be one. */
  error?: number
  /** The JSON of the body, where it has to be a plant or a list. */
  json?: string
}

/** A caller that sends requests of all kinds for one account and compares each answer with a model. */
export interface AccountFuzzer {
  /** How many requests it has sent. */
  readonly sent: number
  /** Sends the next request, or two. Throws where an answer is wrong. */
  step(): Promise<void>
  /** Compares the whole list and lets go of the connection. */
  finish(): Promise<void>
}

/** Makes the caller of one account, which nobody else writes to. */
export function createAccountFuzzer({ url, tokens, random, bodyLimit }: FuzzOptions): AccountFuzzer {
  const model = createPlantModel()
  let connection: Connection | undefined
  let lastUse = 0
  let sent = 0
  let page: { target: string; position: number; limit: number } | undefined

  async function open(): Promise<Connection> {
    const idle = performance.now() - lastUse
    lastUse = performance.now()
    if (connection && !connection.closed && idle < IDLE_LIMIT) return connection
    connection?.destroy()
    connection = await openConnection(url)
    return connection
  }

  /** Sends well-formed requests at once and checks the answers to all. */
  async function exchange(...pairs: [RawRequest, Expected][]): Promise<RawAnswer[]> {
    const bytes = Buffer.concat(pairs.map(([request]) => writeRequest(request)))
    const current = await open()
    sent += pairs.length
    const cut = random.percent(10) ? random.integer(1, bytes.length) : bytes.length
    current.write(bytes.subarray(0, cut))
    if (cut < bytes.length) {
      await nextTurn()
      current.write(bytes.subarray(cut))
    }
    const answers: RawAnswer[] = []
    for (const [{ method }, expected] of pairs) {
      const answer = await current.read({ toHead: method === 'HEAD', milliseconds: LIMIT })
      if (answer === undefined || answer === 'waiting') throw wrong(answer ?? 'closed', bytes, expected)
      if (!isAsExpected(answer, expected, method)) throw wrong(answer, bytes, expected)
      answers.push(answer)
      if (answer.headers.get('connection') === 'close') connection = undefined
    }
    if (!connection) current.destroy()
    return answers
  }

  /** The request that creates a plant from a body, and the answer that it has to get. */
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

  const list = () => JSON.stringify(model.plants.map(answered))

  async function readPage(): Promise<void> {
    const { target, position, limit } = page ?? firstPage()
    const expected = model.plants.slice(position, position + limit).map(answered)
    const request = plantsRequest(tokens.readOnly, { target })
    const [answer] = await exchange([request, { status: 200, json: JSON.stringify(expected) }])
    const link = /^<([^>]*)>; rel="next"$/.exec(answer?.headers.get('link') ?? '')?.[1]
    const more = model.plants.length > position + limit
    if ((link !== undefined) !== more) throw wrong(answer ?? 'closed', writeRequest(request), { status: 200 })
    page = link === undefined ? undefined : { target: `/plants${link}`, position: position + limit, limit }
  }

  function firstPage() {
    const limit = random.integer(1, MAXIMUM_PAGE)
    return { target: `/plants?limit=${limit}`, position: 0, limit }
  }

  /** A request that is well-formed HTTP and refused for exactly one reason. */
  function refused(): [RawRequest, Expected] {
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

  /** Sends what is mostly no HTTP. Whatever it is, the answers are errors, or right for the request as it was. */
  async function sendMalformed(): Promise<void> {
    const plant = random.percent(70) ? randomPlant(random) : undefined
    const request = plant
      ? createRequest(tokens.both, written(plant))
      : plantsRequest(tokens.both, { target: '/plants?limit=3' })
    const bytes = mutateHttp(random, request)
    const answers = await sendAndEnd(bytes)
    const wrongOne = answers.find((answer) => !isErrorOrRight(answer, plant))
    if (wrongOne) throw wrong(wrongOne, bytes)
    if (!plant) return
    if (answers.some(({ status, body }) => status === 200 && body === JSON.stringify(answered(plant)))) {
      if (!model.create(plant)) throw wrong('200, though the id is taken', bytes)
    } else if (answers.length === 0) {
      // It may be stored or not: the same again is safe, and then it is.
      await exchange(creation(Buffer.from(writeBody(random, plant))))
    }
  }

  /** Everything that the server answers until it closes the connection. */
  async function sendAndEnd(bytes: Buffer): Promise<RawAnswer[]> {
    const current = await open()
    const toHead = /^\s*HEAD /.test(bytes.toString('latin1'))
    const answers: RawAnswer[] = []
    connection = undefined
    sent++
    current.write(bytes)
    for (let ended = false; ; ) {
      const answer = await current.read({ toHead, milliseconds: ended ? LIMIT : PATIENCE })
      if (answer === undefined) break
      if (answer === 'waiting' && ended) throw wrong(answer, bytes)
      if (answer !== 'waiting') answers.push(answer)
      if (!ended) current.end()
      ended = true
    }
    current.destroy()
    return answers
  }

  function isErrorOrRight(answer: RawAnswer, plant: ModelPlant | undefined): boolean {
    const { status, body } = answer
    if (status === 204 || (body === '' && !answer.headers.has('content-type'))) return status < 300
    // An answer to HEAD.
    if (body === '') return status < 500
    if (status >= 400) return (status < 500 || status === 505) && isError(answer)
    if (status !== 200) return false
    if (plant && body === JSON.stringify(answered(plant))) return true
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
      if (choice <= 55) return void (await exchange(refused()))
      if (choice <= 85) return void (await exchange(creation(mutateBody(random, randomPlant(random)))))
      return sendMalformed()
    },
    async finish() {
      await exchange([plantsRequest(tokens.both), { status: 200, json: list() }])
      connection?.destroy()
    },
  }
}

function stored(plant: ModelPlant): Expected {
  return { status: 200, json: JSON.stringify(answered(plant)) }
}

function isAsExpected(answer: RawAnswer, { status, error, json }: Expected, method: string): boolean {
  if (answer.status !== status) return false
  if (method === 'HEAD') return true
  if (error !== undefined) return isError(answer) && JSON.parse(answer.body).error === error
  return json === undefined || JSON.stringify(JSON.parse(answer.body)) === json
}

function isError({ status, headers, body }: RawAnswer): boolean {
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

function wrong(answer: RawAnswer | string, bytes: Buffer, expected?: Expected): Error {
  const shown = typeof answer === 'string' ? answer : `${answer.status} ${answer.body.slice(0, 2_000)}`
  const wanted = expected ? `, not ${JSON.stringify(expected).slice(0, 2_000)}` : ''
  return new Error(`answered ${shown}${wanted}, to ${JSON.stringify(bytes.toString('latin1')).slice(0, 4_000)}`)
}
