import type { Fetch, FetchInit, Signal } from '../fetch.ts'
import { type ErrorName, errorCodes } from '../generated/error-codes.ts'
import { type OperationName, routes } from '../generated/routes.ts'
import type { NewPlant } from '../generated/types.ts'
import { readBaseUrl } from '../options.ts'
import { writeRequest } from '../wire/request.ts'
import { requireKnown } from '../wire/values.ts'
import {
  createApiError,
  type FakeRequest,
  type FakeState,
  type FakeToken,
  findOperations,
  handle,
  listPlants,
  respond,
  type StoredPlant,
  toResponse,
} from './respond.ts'

export { type ApiErrorOptions, createApiError, type FakeRequest, type FakeToken, type StoredPlant } from './respond.ts'

// The types here are those that every app has: not `Headers`, for example.

/** The options of the fake. */
export interface FakePlantStoreOptions {
  /** Default: `http://plant-store.test`. */
  readonly baseUrl?: string | undefined
  /** The delay of every response in milliseconds. Default: 0. */
  readonly latency?: number | undefined
}

/** What goes wrong with a request: an `Error` that `fetch` throws, as if no response arrived, or the response. */
export type Fault =
  | Error
  /** The store does nothing and responds with this error of the catalogue. */
  | (FaultOptions & { readonly error: ErrorName })
  /** The store does nothing and responds with this status. Default body: that of an error of the status. */
  | (FaultOptions & { readonly status: number; readonly body?: string | undefined })
  /** The store handles the request, and its response is late. */
  | (FaultOptions & { readonly delay: number })

/** What each fault may have. */
export interface FaultOptions {
  /** Additional response headers, such as `retry-after`. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The delay of the response in milliseconds. Default: 0. */
  readonly delay?: number | undefined
}

/**
 * A plant store in memory. It can be the options of a client, `createPlantStoreClient(store)`, or a part of them:
 * `createPlantStoreClient({ ...store, retries: 0 })`, where only the options are spread.
 */
export interface FakePlantStore {
  readonly baseUrl: string
  /** A token of the account `default`. */
  readonly token: string
  /** Responds like the service, without a network. */
  readonly fetch: Fetch
  /** The requests so far, in order. */
  readonly requests: readonly FakeRequest[]

  /** Creates a token. Default: one of the account `default`, with the scopes `read` and `write`, that never ends. */
  createToken(token?: Partial<FakeToken>): string
  /** Revokes a token: it ends now. */
  revokeToken(token: string): void

  /**
   * Adds plants to an account without a request. Default: the account `default`.
   *
   * @throws {UsageError} A plant is invalid.
   * @throws {ApiError} An id is taken by another plant.
   */
  add(plants: readonly NewPlant[], account?: string): void
  /** Returns the plants of an account, in order of creation. Default: the account `default`. */
  plants(account?: string): readonly StoredPlant[]

  /**
   * Makes the next requests fail, or be late.
   *
   * @param times the number of requests. Default: 1.
   * @param operation the operation whose requests fail. Default: any.
   * @throws {UsageError} A field of the fault, or the operation, is unknown.
   *
   * @example
   * store.failNext({ error: 'unavailable', headers: { 'retry-after': '1' } }, 2)
   * store.failNext({ status: 502, body: '<h1>Bad Gateway</h1>' })
   * store.failNext({ delay: 60_000 })
   * store.failNext(new TypeError('fetch failed'), 1, 'getPlants')
   */
  failNext(fault: Fault, times?: number, operation?: OperationName): void

  /** Makes the store as new: without plants, requests and faults, and of all tokens with `token` only. */
  reset(): void
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
  requireKnown(options, ['baseUrl', 'latency'], 'options')
  const baseUrl = readBaseUrl(options.baseUrl ?? 'http://plant-store.test')
  const state: FakeState = { baseUrl, tokens: new Map(), accounts: new Map() }
  const requests: FakeRequest[] = []
  const faults: { readonly fault: Fault; readonly operation?: OperationName | undefined }[] = []

  const fetch: Fetch = async (url, init) => {
    const { headers: sent, ...request } = await readRequest(url, init)
    const { authorization = '', ...headers } = sent
    const [, token] = /^bearer +(\S+)$/i.exec(authorization) ?? []
    const { account, scopes } = state.tokens.get(token ?? '') ?? {}
    requests.push({ ...request, headers, account, scopes })
    const called = findOperations(url, state).find((name) => routes[name].method === request.method)
    const index = faults.findIndex(({ operation = called }) => operation === called)
    const { fault } = (index >= 0 && faults.splice(index, 1)[0]) || { fault: { delay: 0 } }
    init?.signal?.throwIfAborted()
    if (fault instanceof Error) throw fault
    const { status, headers: others, body } = faultResponse(fault) ?? respond({ ...request, headers }, token, state)
    await wait((options.latency ?? 0) + (fault.delay ?? 0), init?.signal)
    const all = new Headers({ ...others, ...fault.headers })
    // The part that the client uses, for jsdom, which has no `Response`.
    if (typeof Response === 'undefined') return { status, headers: all, text: async () => body }
    return new Response(body || null, { status, headers: all })
  }

  function createToken(token: Partial<FakeToken> = {}): string {
    requireKnown(token, ['account', 'scopes', 'expiresAt'], 'options')
    const { account = 'default', scopes = ['read', 'write'], expiresAt } = token
    const text = `fake-token-${state.tokens.size + 1}`
    state.tokens.set(text, { account, scopes, expiresAt })
    return text
  }

  function revokeToken(token: string): void {
    state.tokens.set(token, { account: '', scopes: [], ...state.tokens.get(token), expiresAt: new Date(0) })
  }

  function add(plants: readonly NewPlant[], account = 'default'): void {
    for (const plant of plants) {
      writeRequest(routes.createPlant, plant)
      handle('createPlant', plant, account, state)
    }
  }

  function failNext(fault: Fault, times = 1, operation?: OperationName): void {
    if (!(fault instanceof Error)) requireKnown(fault, ['error', 'status', 'body', 'headers', 'delay'], 'fault')
    if (operation !== undefined) requireKnown({ [operation]: true }, Object.keys(routes), 'operation')
    faults.push(...Array.from({ length: times }, () => ({ fault, operation })))
  }

  function reset(): void {
    for (const map of [state.tokens, state.accounts]) map.clear()
    for (const list of [requests, faults]) list.length = 0
    createToken()
  }

  const own = { baseUrl, token: createToken(), fetch }
  // Not enumerable, so that the store, and a spread of it, has the options of a client and nothing else.
  return Object.defineProperties(own, {
    requests: { value: requests },
    createToken: { value: createToken },
    revokeToken: { value: revokeToken },
    add: { value: add },
    plants: { value: (account = 'default') => listPlants(account, state) },
    failNext: { value: failNext },
    reset: { value: reset },
  }) as FakePlantStore
}

/** Reads the arguments of `fetch`: those of the client, or a `Request` as the options, as Mock Service Worker passes it. */
async function readRequest(url: string, init: FetchInit = {}): Promise<FakeRequest> {
  const { method = 'GET', headers } = init
  const body = 'text' in init && typeof init.text === 'function' ? await init.text() : String(init.body ?? '')
  return { method, url, headers: Object.fromEntries(new Headers(headers)), body }
}

/** Creates the response of a fault; undefined if the store responds. */
function faultResponse(fault: Exclude<Fault, Error>) {
  if ('error' in fault) return toResponse(createApiError({ name: fault.error }))
  if (!('status' in fault)) return undefined
  const { status, body = '' } = fault
  const name = (Object.keys(errorCodes) as ErrorName[]).find((each) => Math.floor(errorCodes[each] / 100) === status)
  return body || !name ? { status, headers: {}, body } : toResponse(createApiError({ name }))
}

/** Waits before a response. Rejects, like `fetch`, if the request is aborted. */
async function wait(delay: number, signal: Signal | null | undefined): Promise<void> {
  if (delay === 0) return
  await new Promise<void>((resolve, rejectWith) => {
    const timer = setTimeout(resolve, delay)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      rejectWith(signal.reason)
    })
  })
}
