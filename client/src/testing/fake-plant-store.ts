import type { Fetch } from '../fetch.ts'
import { type FakeAnswer, toResponse, wait } from './fault.ts'
import { answerJson } from './response.ts'
import { answerRequest, type FakeService } from './service.ts'
import type { Trouble } from './trouble.ts'

/** A plant as the fake keeps it. */
export interface StoredPlant {
  readonly id: bigint
  readonly name: string
  readonly tag?: string
}

/** What a token of the fake may do. */
export interface FakeToken {
  /** The account that it belongs to. Default: `default`. */
  readonly account?: string | undefined
  /** Default: both. */
  readonly scopes?: readonly ('read' | 'write')[] | undefined
  /** From then on it is refused. Default: never. */
  readonly expiresAt?: Date | undefined
}

/** A request that the fake has received. */
export interface FakeRequest {
  readonly method: string
  readonly url: string
  /** Names in lower case; without `authorization`. */
  readonly headers: Readonly<Record<string, string>>
  /** The text of the body; empty where there is none. */
  readonly body: string
}

/** How the fake differs from a server with its defaults. */
export interface FakePlantStoreOptions {
  /** The address it answers at. Default: `http://plant-store.test`. */
  readonly baseUrl?: string | undefined
  /** The largest body it takes, in bytes. Default: 1048576. */
  readonly bodyLimit?: number | undefined
}

/** A plant store in memory. It has the options of a client: `createPlantStoreClient(store)`. */
export interface FakePlantStore {
  readonly baseUrl: string
  /** A token of the account `default`, with both scopes. */
  readonly token: string
  /** Answers as the service does; sends nothing. */
  readonly fetch: Fetch
  /** Every request so far, the first one first. */
  readonly requests: readonly FakeRequest[]

  /** Makes another token. */
  createToken(token?: FakeToken): string
  /** From now on the token is refused. */
  revokeToken(token: string): void

  /** The plants of an account with their ids, in order of creation. Default: of the account `default`. */
  plants(account?: string): readonly StoredPlant[]

  /**
   * Lets something go wrong with the next requests.
   *
   * @param times with how many of them. Default: 1.
   *
   * @example
   * store.failNext({ status: 503, headers: { 'retry-after': '1' } }, 2)
   * store.failNext({ cutBodyAfter: 5 })
   * store.failNext({ delay: 60_000 })
   */
  failNext(trouble: Trouble, times?: number): void
}

/**
 * Makes a plant store in memory that answers as the service does, so that the tests of a caller need no server.
 * Whatever the client of this package can send, it answers as the service would.
 *
 * @example
 * const store = createFakePlantStore()
 * const client = createPlantStoreClient(store)
 * await client.createPlant({ id: 1, name: 'Ficus' })
 * expect(store.plants()).toEqual([{ id: 1n, name: 'Ficus' }])
 */
export function createFakePlantStore(options: FakePlantStoreOptions = {}): FakePlantStore {
  const { baseUrl = 'http://plant-store.test', bodyLimit = 2 ** 20 } = options
  const path = `${new URL(baseUrl).pathname.replace(/\/$/, '')}/plants`
  const service: FakeService = { bodyLimit, path, tokens: new Map(), accounts: new Map() }
  const requests: FakeRequest[] = []
  const troubles: Trouble[] = []

  const fetch = async (url: string, init?: RequestInit): Promise<Response> => {
    const request = new Request(url, init)
    const trouble = troubles.shift() ?? {}
    const body = await request.text()
    const { authorization: _, ...headers } = Object.fromEntries(request.headers)
    requests.push({ method: request.method, url: request.url, headers, body })
    await wait(trouble, request.signal)
    if (trouble.connectionError) throw new TypeError('fetch failed', { cause: new Error('connection refused') })
    return toResponse(
      trouble.status === undefined ? answerRequest(request, body, service) : answerStatus(trouble.status),
      trouble,
    )
  }

  function createToken(token: FakeToken = {}): string {
    const text = `fake-token-${service.tokens.size + 1}`
    service.tokens.set(text, token)
    return text
  }

  return {
    baseUrl,
    token: createToken(),
    fetch: fetch as Fetch,
    requests,
    createToken,
    revokeToken: (token) => void service.tokens.set(token, { ...service.tokens.get(token), expiresAt: new Date(0) }),
    plants: (account = 'default') => [...(service.accounts.get(account)?.values() ?? [])],
    failNext: (trouble, times = 1) => void troubles.push(...Array<Trouble>(times).fill(trouble)),
  }
}

function answerStatus(status: number): FakeAnswer {
  return answerJson(status, { error: status * 100, message: 'This failure was asked for by a test.' })
}
