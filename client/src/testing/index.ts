import { errorCodes } from '../generated/error-codes.ts'
import { type OperationName, routes } from '../generated/routes.ts'
import type { NewPlant } from '../generated/types.ts'
import type { FetchResponse } from '../options.ts'
import { readBaseUrl } from '../settings.ts'
import { rejectArgument, requireKnown } from '../values.ts'
import { writeRequest } from '../wire/request.ts'
import { readInput } from './input.ts'
import { type Account, handlers, type StoredPlant } from './operations.ts'
import { accountOf, type FakeRequest, type FakeService, type FakeToken, type Fault, receive } from './service.ts'

export type { StoredPlant } from './operations.ts'
export type { FakeRequest, FakeToken, Fault, FaultOptions } from './service.ts'

// The types here are those that every app has: not `Headers`, for example.

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
  /** A token of the account `default`. */
  readonly token: string
  /** Responds like the service, without a network, to a URL as text and what every `fetch` takes with it. */
  readonly fetch: (url: string, init?: object) => Promise<FetchResponse>
  /** The requests so far, in order. */
  readonly requests: readonly FakeRequest[]

  /** Creates a token. Default: one of the account `default`, with the scopes `read` and `write`, that never ends. */
  createToken(token?: { readonly [TName in keyof FakeToken]?: FakeToken[TName] | undefined }): string
  /** Revokes a token: it ends now. */
  revokeToken(token: string): void

  /**
   * Adds plants to an account without a request. Default: the account `default`.
   *
   * @throws {UsageError} A plant cannot be sent.
   * @throws {ApiError} A plant is invalid, or its id is taken by another plant: those before it are added.
   */
  add(plants: readonly NewPlant[], account?: string): void
  /** Returns the plants of an account, in order of creation. Default: the account `default`. */
  plants(account?: string): readonly StoredPlant[]

  /**
   * Makes the next requests fail, or be late.
   *
   * @param times the number of requests; `Infinity` for all. Default: 1.
   * @param operation the operation whose requests fail. Default: any.
   * @throws {UsageError} A field of the fault, its error, or the operation is unknown, or `times` is not positive.
   *
   * @example
   * store.failNext({ error: 'unavailable', headers: { 'retry-after': '1' } }, 2)
   * store.failNext({ status: 502, body: '<h1>Bad Gateway</h1>' })
   * store.failNext({ delay: 200 }, Infinity)
   * store.failNext(new TypeError('fetch failed'), 1, 'getPlants')
   */
  failNext(fault: Fault, times?: number, operation?: OperationName): void

  /** Makes the store as new: without plants, requests and faults, and of all tokens with `token` only. */
  reset(): void
}

/**
 * Creates a plant store in memory, for the tests of an app. It responds like the service to what a client sends,
 * but without an `ETag`: a list that has not changed is `failNext({ status: 304, body: '' })`.
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
  const baseUrl = readBaseUrl(options.baseUrl ?? 'http://plant-store.test')
  const [tokens, accounts] = [new Map<string, FakeToken>(), new Map<string, Account>()]
  const service: FakeService = { baseUrl, tokens, accounts, requests: [], faults: [] }

  const others: Omit<FakePlantStore, 'baseUrl' | 'token' | 'fetch'> = {
    requests: service.requests,
    createToken(token = {}) {
      requireKnown(token, ['account', 'scopes', 'expiresAt'], 'options')
      const { account = 'default', scopes = ['read', 'write'], expiresAt } = token
      const text = `fake-token-${tokens.size + 1}`
      tokens.set(text, { account, scopes, expiresAt })
      return text
    },
    revokeToken: (token) => void Object.assign(tokens.get(token) ?? {}, { expiresAt: new Date(0) }),
    add(plants, account = 'default') {
      for (const plant of plants) {
        const { body = '' } = writeRequest(routes.createPlant, plant)
        const input = readInput('createPlant', {}, '', body) as NewPlant
        handlers.createPlant(input, accountOf(service, account))
      }
    },
    plants: (account = 'default') =>
      [...accountOf(service, account).plants.values()].map(({ seq: _, ...plant }) => plant),
    failNext(fault, times = 1, operation) {
      if (!(fault instanceof Error)) {
        const own = 'status' in fault ? ['status', 'body'] : ['error']
        requireKnown(fault, [...own, 'headers', 'delay'], 'fault')
        if ('error' in fault) requireKnown({ [`${fault.error}`]: true }, Object.keys(errorCodes), 'error')
      }
      if (!(times > 0)) rejectArgument('times', 'must be a positive number')
      if (operation !== undefined) requireKnown({ [operation]: true }, Object.keys(routes), 'operation')
      service.faults.push({ fault, operation, times })
    },
    reset() {
      for (const map of [tokens, accounts]) map.clear()
      for (const list of [service.requests, service.faults]) list.length = 0
      others.createToken()
    },
  }

  const fetch: FakePlantStore['fetch'] = (url, init = {}) => receive(service, url, init)
  // All others are inherited, so that the store, and a spread of it, has the options of a client and nothing else.
  return Object.assign(Object.create(others), { baseUrl, token: others.createToken(), fetch })
}
