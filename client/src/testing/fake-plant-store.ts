import type { Fetch } from '../fetch.ts'
import { toResponse, wait } from './apply-fault.ts'
import type { Fault } from './fault.ts'
import type { StoredPlant } from './handlers.ts'
import { respond } from './respond.ts'
import { type FakeResponse, jsonResponse } from './response.ts'
import type { FakeState, FakeToken } from './state.ts'

/** A request that the fake received. */
export interface FakeRequest {
  readonly method: string
  readonly url: string
  /** Names in lower case, without `authorization`. */
  readonly headers: Readonly<Record<string, string>>
  /** The text of the body; empty if there is none. */
  readonly body: string
}

/** The options of the fake. */
export interface FakePlantStoreOptions {
  /** Default: `http://plant-store.test`. */
  readonly baseUrl?: string | undefined
  /** The maximum size of a request body in bytes. Default: 1048576. */
  readonly bodyLimit?: number | undefined
}

/** A plant store in memory. It can be the options of a client: `createPlantStoreClient(store)`. */
export interface FakePlantStore {
  readonly baseUrl: string
  /** A token of the account `default`, with both scopes. */
  readonly token: string
  /** Responds like the service, without a network. */
  readonly fetch: Fetch
  /** The requests so far, in order. */
  readonly requests: readonly FakeRequest[]

  /** Creates another token. */
  createToken(token?: FakeToken): string
  /** Revokes a token. */
  revokeToken(token: string): void

  /** Returns the plants of an account, in order of creation. Default: the account `default`. */
  plants(account?: string): readonly StoredPlant[]

  /**
   * Makes the next requests fail.
   *
   * @param times the number of requests. Default: 1.
   *
   * @example
   * store.failNext({ status: 503, headers: { 'retry-after': '1' } }, 2)
   * store.failNext({ cutBodyAfter: 5 })
   * store.failNext({ delay: 60_000 })
   */
  failNext(fault: Fault, times?: number): void
}

/**
 * Creates a plant store in memory, for the tests of an app. It responds like the service to everything that the client
 * can send.
 *
 * @example
 * const store = createFakePlantStore()
 * const client = createPlantStoreClient(store)
 * await client.createPlant({ id: 1, name: 'Ficus' })
 * expect(store.plants()).toEqual([{ id: 1n, name: 'Ficus' }])
 */
export function createFakePlantStore(options: FakePlantStoreOptions = {}): FakePlantStore {
  const { baseUrl = 'http://plant-store.test', bodyLimit = 2 ** 20 } = options
  const basePath = new URL(baseUrl).pathname.replace(/\/$/, '')
  const state: FakeState = { bodyLimit, basePath, tokens: new Map(), accounts: new Map() }
  const requests: FakeRequest[] = []
  const faults: Fault[] = []

  const fetch = async (url: string, init?: RequestInit): Promise<Response> => {
    const request = new Request(url, init)
    const fault = faults.shift() ?? {}
    const body = await request.text()
    const { authorization: _, ...headers } = Object.fromEntries(request.headers)
    requests.push({ method: request.method, url: request.url, headers, body })
    await wait(fault, request.signal)
    if (fault.connectionError) throw new TypeError('fetch failed', { cause: new Error('connection refused') })
    return toResponse(fault.status === undefined ? respond(request, body, state) : respondWith(fault.status), fault)
  }

  function createToken(token: FakeToken = {}): string {
    const text = `fake-token-${state.tokens.size + 1}`
    state.tokens.set(text, token)
    return text
  }

  return {
    baseUrl,
    token: createToken(),
    fetch: fetch as Fetch,
    requests,
    createToken,
    revokeToken: (token) => void state.tokens.set(token, { ...state.tokens.get(token), expiresAt: new Date(0) }),
    plants: (account = 'default') => [...(state.accounts.get(account)?.values() ?? [])],
    failNext: (fault, times = 1) => void faults.push(...Array<Fault>(times).fill(fault)),
  }
}

function respondWith(status: number): FakeResponse {
  return jsonResponse(status, { error: status * 100, message: 'A test requested this error.' })
}
