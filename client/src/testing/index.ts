import { ApiError } from '../errors.ts'
import { type ErrorName, errorCodes } from '../generated/error-codes.ts'
import { requestRules } from '../generated/requests.ts'
import { type OperationName, routes } from '../generated/routes.ts'
import type { NewPlant } from '../generated/types.ts'
import { type FetchInit, type FetchResponse, readBaseUrl, type Signal } from '../options.ts'
import { writeJson } from '../wire/json.ts'
import { writeRequest } from '../wire/request.ts'
import { orUndefined, requireKnown } from '../wire/values.ts'
import { createRequestId, readInput, reject, type Scope } from './check-request.ts'
import { type Account, type Handler, handlers, type OperationResult, type StoredPlant } from './operations.ts'

export { type ApiErrorOptions, createApiError } from './check-request.ts'
export type { StoredPlant } from './operations.ts'

// The types here are those that every app has: not `Headers`, for example.

/** The options of the fake. */
export interface FakePlantStoreOptions {
  /** Default: `http://plant-store.test`. */
  readonly baseUrl?: string | undefined
}

/** A token of the fake. */
export interface FakeToken {
  readonly account: string
  readonly scopes: readonly Scope[]
  /** When it ends; undefined: never. */
  readonly expiresAt?: Date | undefined
}

/** A request that the fake received. */
export interface FakeRequest {
  readonly method: string
  readonly url: string
  /** Names in lower case, without `authorization`. */
  readonly headers: Readonly<Record<string, string>>
  /** The text of the body; empty if there is none. */
  readonly body: string
  /** The account and the scopes of the token. Undefined if the fake has not created it. */
  readonly account?: string | undefined
  readonly scopes?: readonly Scope[] | undefined
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
  /** Responds like the service, without a network, to what every `fetch` takes. */
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
   * @throws {UsageError} A plant is invalid.
   * @throws {ApiError} An id is taken by another plant.
   */
  add(plants: readonly NewPlant[], account?: string): void
  /** Returns the plants of an account, in order of creation. Default: the account `default`. */
  plants(account?: string): readonly StoredPlant[]

  /**
   * Makes the next requests fail, or be late.
   *
   * @param times the number of requests; `Infinity` for all. Default: 1.
   * @param operation the operation whose requests fail. Default: any.
   * @throws {UsageError} A field of the fault, or the operation, is unknown.
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
  const baseUrl = readBaseUrl(options.baseUrl ?? 'http://plant-store.test')
  const tokens = new Map<string, FakeToken>()
  const accounts = new Map<string, Account>()
  /** A number for each body that a request of an account has got. */
  const tags = new Map<string, number>()
  const requests: FakeRequest[] = []
  const faults: { readonly fault: Fault; readonly operation: OperationName | undefined; times: number }[] = []

  const fetch: FakePlantStore['fetch'] = async (url, init = {}) => {
    const { method = 'GET', headers: sent, signal, body: text = '' }: Partial<FetchInit> = init
    // Mock Service Worker passes a `Request` as the options.
    const body = 'text' in init && typeof init.text === 'function' ? await init.text() : String(text ?? '')
    const { authorization = '', ...others } = Object.fromEntries(new Headers(sent))
    const [, token] = /^bearer +(\S+)$/i.exec(authorization) ?? []
    const { account, scopes } = tokens.get(token ?? '') ?? {}
    const request: FakeRequest = { method, url, headers: others, body, account, scopes }
    requests.push(request)
    const called = orUndefined(() => findOperation(request).operation)
    const next = faults.find(({ operation = called, times }) => operation === called && times > 0)
    if (next) next.times--
    const fault: Fault = next?.fault ?? { delay: 0 }
    signal?.throwIfAborted()
    if (fault instanceof Error) throw fault
    const response = respond(request, token, fault)
    if (fault.delay) await wait(fault.delay, signal)
    const headers = new Headers({ ...response.headers, ...fault.headers })
    // The part that the client uses, for jsdom, which has no `Response`.
    if (typeof Response === 'undefined') return { ...response, headers, text: async () => response.body }
    return new Response(response.body || null, { status: response.status, headers })
  }

  /** Responds as the service does, with its order of checks: path, method, token, scope, size, body, fields. */
  function respond(request: FakeRequest, token: string | undefined, fault: Exclude<Fault, Error>) {
    try {
      if ('error' in fault) reject(fault.error)
      if ('status' in fault) return respondWith(fault.status, fault.body)
      const { operation, segments, query } = findOperation(request)
      const account = authenticate(token, requestRules[operation].scope)
      const input = readInput(operation, segments, query, request.body)
      const { data, nextCursor, hasVersion } = handle(operation, input, account)
      const parameters = new URLSearchParams(query)
      if (nextCursor !== undefined) parameters.set('cursor', nextCursor)
      const link = nextCursor === undefined ? undefined : { link: `<?${parameters}>; rel="next"` }
      const response = jsonResponse(routes[operation].status, data, { ...link })
      return hasVersion ? revalidate(response, request) : response
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      return jsonResponse(error.status, error.body, Object.fromEntries(error.headers as Headers))
    }
  }

  /** Gives a response the tag of its body, and makes it a 304 where the request names that. */
  function revalidate({ status, headers, body }: FakeResponse, { account, url, headers: sent }: FakeRequest) {
    const key = JSON.stringify([account, url, body])
    const number = tags.get(key) ?? tags.size
    tags.set(key, number)
    const tagged = { ...headers, etag: `"${number}"`, 'cache-control': 'private, no-cache', vary: 'Authorization' }
    const condition = sent['if-none-match'] ?? ''
    const isSame = condition.trim() === '*' || (condition.match(/"[^"]*"/g) ?? []).some((tag) => tag === tagged.etag)
    if (!isSame) return { status, headers: tagged, body }
    const { 'content-type': _, ...rest } = tagged as Record<string, string>
    return { status: 304, headers: rest, body: '' }
  }

  /**
   * Finds the operation of a request, and what its path and query say. Of several at a path, the first one is called.
   */
  function findOperation({ method, url }: FakeRequest) {
    const [path = '', query = ''] = url.replace(baseUrl, '').split('?')
    const atPath = (Object.keys(routes) as OperationName[]).flatMap((operation) => {
      const pattern = routes[operation].path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')
      const match = new RegExp(`^${pattern}$`).exec(path)
      return match ? [{ operation, segments: match.groups ?? {}, query }] : []
    })
    if (atPath.length === 0) reject('notFound')
    const methods = atPath.map(({ operation }) => routes[operation].method)
    return atPath[methods.indexOf(method)] ?? reject('methodNotAllowed', undefined, { allow: methods.join(', ') })
  }

  /** Returns the account of a token that is valid and has a scope. */
  function authenticate(text: string | undefined, scope: Scope): string {
    if (text === undefined) return reject('tokenMissing')
    const { account, scopes, expiresAt } = tokens.get(text) ?? reject('tokenInvalid')
    if (expiresAt && expiresAt <= new Date()) reject('tokenEnded')
    if (!scopes.includes(scope))
      reject('scopeMissing', `The token lacks the scope "${scope}" that this operation needs.`)
    return account
  }

  /** Handles an input that was checked. */
  function handle(operation: OperationName, input: unknown, account: string): OperationResult<unknown> {
    const own = accounts.get(account) ?? { number: accounts.size, plants: new Map(), lastSeq: 0 }
    accounts.set(account, own)
    return (handlers[operation] as Handler<unknown, unknown>)(input, own)
  }

  function createToken(token: Parameters<FakePlantStore['createToken']>[0] = {}): string {
    requireKnown(token, ['account', 'scopes', 'expiresAt'], 'options')
    const { account = 'default', scopes = ['read', 'write'], expiresAt } = token
    const text = `fake-token-${tokens.size + 1}`
    tokens.set(text, { account, scopes, expiresAt })
    return text
  }

  function revokeToken(token: string): void {
    tokens.set(token, { account: '', scopes: [], ...tokens.get(token), expiresAt: new Date(0) })
  }

  function add(plants: readonly NewPlant[], account = 'default'): void {
    for (const plant of plants) {
      writeRequest(routes.createPlant, plant)
      handle('createPlant', plant, account)
    }
  }

  function plants(account = 'default'): StoredPlant[] {
    return [...(accounts.get(account)?.plants.values() ?? [])].map(({ seq: _, ...plant }) => plant)
  }

  function failNext(fault: Fault, times = 1, operation?: OperationName): void {
    if (!(fault instanceof Error)) requireKnown(fault, ['error', 'status', 'body', 'headers', 'delay'], 'fault')
    if (operation !== undefined) requireKnown({ [operation]: true }, Object.keys(routes), 'operation')
    faults.push({ fault, operation, times })
  }

  function reset(): void {
    for (const map of [tokens, accounts]) map.clear()
    for (const list of [requests, faults]) list.length = 0
    createToken()
  }

  const others = { requests, createToken, revokeToken, add, plants, failNext, reset }
  // All others are inherited, so that the store, and a spread of it, has the options of a client and nothing else.
  return Object.assign(Object.create(others), { baseUrl, token: createToken(), fetch })
}

/** A response of the fake; the body is empty if there is none. */
interface FakeResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Creates the response of a fault. */
function respondWith(status: number, body = '') {
  const name = (Object.keys(errorCodes) as ErrorName[]).find((each) => Math.floor(errorCodes[each] / 100) === status)
  return body || !name ? { status, headers: {}, body } : reject(name)
}

/** Creates a response with a JSON body, unless that is undefined. */
function jsonResponse(status: number, data: unknown, headers: Readonly<Record<string, string>>) {
  const body = writeJson(data, () => undefined)
  const type = body ? { 'content-type': 'application/json; charset=utf-8' } : {}
  return { status, headers: { ...type, 'x-request-id': createRequestId(), ...headers }, body }
}

/** Waits before a response. Rejects, like `fetch`, if the request is aborted. */
function wait(delay: number, signal: Signal | null | undefined): Promise<void> {
  return new Promise((resolve, rejectWith) => {
    const timer = setTimeout(resolve, delay)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      rejectWith(signal.reason)
    })
  })
}
