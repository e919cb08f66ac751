import type { Fetch, FetchResponse } from '../fetch.ts'
import { routes } from '../generated/routes.ts'
import type { NewPlant } from '../generated/types.ts'
import type { ClientOptions } from '../options.ts'
import { toApiError } from './create-api-error.ts'
import type { Fault } from './fault.ts'
import { adaptResponse, readRequest, toResponse, wait } from './fetch.ts'
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

/**
 * A plant store in memory. It can be the options of a client, `createPlantStoreClient(store)`, or a part of them:
 * `createPlantStoreClient({ ...store, retries: 0 })`, where only the options are spread.
 */
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

  /**
   * Adds plants to an account without a request, checked as the service does. Default: the account `default`.
   *
   * @throws {RequestError} A plant is invalid.
   * @throws {ApiError} An id is taken by another plant, or a plant is too large.
   */
  add(plants: readonly NewPlant[], account?: string): void
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
 * Creates a plant store in memory, for the tests of an app. It responds like the service, also to requests that no
 * client sends. The README says what differs.
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

  const fetch = async (url: string, init?: RequestInit): Promise<FetchResponse> => {
    const fault = faults.shift() ?? {}
    const { request, body, signal } = await readRequest(url, init)
    const { authorization: _, ...headers } = Object.fromEntries(request.headers)
    requests.push({ method: request.method, url: request.url, headers, body })
    await wait(fault, signal)
    if (fault.connectionError) throw new TypeError('fetch failed', { cause: new Error('connection refused') })
    const response = fault.status === undefined ? respond(request, body, state) : respondWith(fault.status)
    return toResponse(adaptResponse(response, request), fault)
  }

  function createToken(token: FakeToken = {}): string {
    const text = `fake-token-${state.tokens.size + 1}`
    state.tokens.set(text, token)
    return text
  }

  function add(plants: readonly NewPlant[], account = 'default'): void {
    for (const plant of plants) {
      const token = createToken({ account })
      const headers = new Headers({ authorization: `Bearer ${token}`, 'content-type': 'application/json' })
      const request = { method: 'POST', url: new URL(`${basePath}/plants`, baseUrl).href, headers }
      const { status, body } = respond(request, routes.createPlant.body?.(plant, '') ?? '', state)
      state.tokens.delete(token)
      if (status !== 200) throw toApiError(body)
    }
  }

  const clientOptions: ClientOptions = { baseUrl, token: createToken(), fetch: fetch as Fetch }
  const others: Omit<FakePlantStore, 'baseUrl' | 'token' | 'fetch'> = {
    requests,
    createToken,
    revokeToken: (token) => void state.tokens.set(token, { ...state.tokens.get(token), expiresAt: new Date(0) }),
    add,
    plants: (account = 'default') => [...(state.accounts.get(account)?.values() ?? [])],
    failNext: (fault, times = 1) => void faults.push(...Array<Fault>(times).fill(fault)),
  }
  // Inherited, so that a spread of the store has the options of a client and nothing else.
  return Object.assign(Object.create(others), clientOptions)
}

function respondWith(status: number): FakeResponse {
  return jsonResponse(status, { error: status * 100, message: 'A test requested this error.' })
}
