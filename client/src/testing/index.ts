import type { Fetch } from '../fetch.ts'
import { scopes } from '../generated/requests.ts'
import { routes } from '../generated/routes.ts'
import type { NewPlant } from '../generated/types.ts'
import { type ClientOptions, readBaseUrl } from '../options.ts'
import { reject, requireKnown } from '../wire/write.ts'
import { checkFault, type FakeRequest, type Fault, jsonResponse, readRequest, toResponse, wait } from './fetch.ts'
import { type FakeState, type FakeToken, handle, respond, type StoredPlant } from './respond.ts'

export { type ApiErrorOptions, createApiError } from './api-error.ts'
export type { FakeRequest, Fault } from './fetch.ts'
export type { FakeToken, StoredPlant } from './respond.ts'

/** The options of the fake. */
export interface FakePlantStoreOptions {
  /** Default: `http://plant-store.test`. */
  readonly baseUrl?: string | undefined
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
   * @throws {UsageError} A plant is invalid.
   * @throws {ApiError} An id is taken by another plant, or a plant is too large.
   */
  add(plants: readonly NewPlant[], account?: string): void
  /** Returns the plants of an account, in order of creation. Default: the account `default`. */
  plants(account?: string): readonly StoredPlant[]

  /**
   * Makes the next requests fail.
   *
   * @param times the number of requests. Default: 1.
   * @throws {UsageError} A field of the fault is unknown or invalid.
   *
   * @example
   * store.failNext({ status: 503, headers: { 'retry-after': '1' } }, 2)
   * store.failNext({ cutBodyAfter: 5 })
   * store.failNext({ delay: 60_000 })
   */
  failNext(fault: Fault, times?: number): void
}

/**
 * Creates a plant store in memory, for the tests of an app. It responds like the service to what a client sends.
 *
 * @throws {UsageError} An option is unknown or invalid.
 *
 * @example
 * const store = createFakePlantStore()
 * const client = createPlantStoreClient(store)
 * await client.createPlant({ id: 1, name: 'Ficus' })
 * expect(store.plants()).toEqual([{ id: 1n, name: 'Ficus' }])
 */
export function createFakePlantStore(options: FakePlantStoreOptions = {}): FakePlantStore {
  requireKnown(options, ['baseUrl'], 'options')
  const { baseUrl = 'http://plant-store.test' } = options
  const basePath = new URL(readBaseUrl(baseUrl)).pathname.replace(/\/$/, '')
  const state: FakeState = { basePath, tokens: new Map(), accounts: new Map() }
  const requests: FakeRequest[] = []
  const faults: Fault[] = []

  const fetch: Fetch = async (url, init) => {
    const fault = faults.shift() ?? {}
    const request = await readRequest(url, init)
    const { authorization: _, ...headers } = request.headers
    requests.push({ ...request, headers })
    await wait(fault, init?.signal)
    const { status, connectionError } = fault
    if (connectionError) throw new TypeError('fetch failed', { cause: new Error('connection refused') })
    if (status === undefined) return toResponse(respond(request, state), fault)
    const error = { error: status * 100, message: 'A test requested this error.' }
    return toResponse(jsonResponse(status, error, {}), fault)
  }

  function createToken(token: FakeToken = {}): string {
    requireKnown(token, ['account', 'scopes', 'expiresAt'], 'options')
    for (const scope of token.scopes ?? [])
      if (!scopes.includes(scope)) reject('scopes', `must be of ${scopes.join(', ')}`)
    const { expiresAt } = token
    if (expiresAt !== undefined && !(expiresAt instanceof Date)) reject('expiresAt', 'must be a Date')
    const text = `fake-token-${state.tokens.size + 1}`
    state.tokens.set(text, token)
    return text
  }

  function add(plants: readonly NewPlant[], account = 'default'): void {
    for (const plant of plants) {
      const body = routes.createPlant.body?.(plant, '') ?? ''
      const headers = { 'content-type': 'application/json' }
      handle('createPlant', { path: {}, query: '', headers, body }, account, state)
    }
  }

  function failNext(fault: Fault, times = 1): void {
    checkFault(fault, times)
    faults.push(...Array<Fault>(times).fill(fault))
  }

  const clientOptions: ClientOptions = { baseUrl, token: createToken(), fetch }
  const others: Omit<FakePlantStore, 'baseUrl' | 'token' | 'fetch'> = {
    requests,
    createToken,
    revokeToken: (token) => void state.tokens.set(token, { ...state.tokens.get(token), expiresAt: new Date(0) }),
    add,
    plants: (account = 'default') =>
      [...(state.accounts.get(account)?.plants.values() ?? [])].map(({ plant }) => plant),
    failNext,
  }
  // Not enumerable, so that the store, and a spread of it, has the options of a client and nothing else.
  const hidden = Object.entries(others).map(([name, value]) => [name, { value }])
  return Object.defineProperties(clientOptions, Object.fromEntries(hidden)) as FakePlantStore
}
