import { type OperationName, routes } from '../generated/routes.ts'
import type { NewPlant } from '../generated/types.ts'
import { type FetchInit, type FetchResponse, readBaseUrl, type Signal } from '../options.ts'
import { writeRequest } from '../wire/request.ts'
import { orUndefined, requireKnown } from '../wire/values.ts'
import type { StoredPlant } from './operations.ts'
import {
  type FakeRequest,
  type FakeResponse,
  type FakeService,
  type FakeToken,
  type Fault,
  findOperation,
  handle,
  respond,
} from './service.ts'

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
  const service: FakeService = { baseUrl, tokens: new Map(), accounts: new Map(), versions: new Map() }
  const { tokens, accounts } = service
  const requests: FakeRequest[] = []
  const faults: NextFault[] = []

  const others: Omit<FakePlantStore, 'baseUrl' | 'token' | 'fetch'> = {
    requests,
    createToken(token = {}) {
      requireKnown(token, ['account', 'scopes', 'expiresAt'], 'options')
      const { account = 'default', scopes = ['read', 'write'], expiresAt } = token
      const text = `fake-token-${tokens.size + 1}`
      tokens.set(text, { account, scopes, expiresAt })
      return text
    },
    revokeToken: (token) =>
      void tokens.set(token, { account: '', scopes: [], ...tokens.get(token), expiresAt: new Date(0) }),
    add(plants, account = 'default') {
      for (const plant of plants) {
        writeRequest(routes.createPlant, plant)
        handle(service, 'createPlant', plant, account)
      }
    },
    plants: (account = 'default') =>
      [...(accounts.get(account)?.plants.values() ?? [])].map(({ seq: _, ...plant }) => plant),
    failNext(fault, times = 1, operation) {
      if (!(fault instanceof Error)) requireKnown(fault, ['error', 'status', 'body', 'headers', 'delay'], 'fault')
      if (operation !== undefined) requireKnown({ [operation]: true }, Object.keys(routes), 'operation')
      faults.push({ fault, operation, times })
    },
    reset() {
      for (const map of [tokens, accounts]) map.clear()
      for (const list of [requests, faults]) list.length = 0
      others.createToken()
    },
  }

  const fetch: FakePlantStore['fetch'] = async (url, init = {}) => {
    const { signal }: Partial<FetchInit> = init
    const { request, token } = await readRequest(service, url, init)
    requests.push(request)
    const fault = takeFault(
      faults,
      orUndefined(() => findOperation(service, request).operation),
    )
    signal?.throwIfAborted()
    if (fault instanceof Error) throw fault
    const response = respond(service, request, token, fault)
    if (fault.delay) await wait(fault.delay, signal)
    return writeResponse({ ...response, headers: { ...response.headers, ...fault.headers } })
  }
  // All others are inherited, so that the store, and a spread of it, has the options of a client and nothing else.
  return Object.assign(Object.create(others), { baseUrl, token: others.createToken(), fetch })
}

/** A fault of the next requests of an operation; undefined: of any. */
interface NextFault {
  readonly fault: Fault
  readonly operation: OperationName | undefined
  times: number
}

/** Takes the fault of a request of an operation. */
function takeFault(faults: readonly NextFault[], called: OperationName | undefined): Fault {
  const next = faults.find(({ operation = called, times }) => operation === called && times > 0)
  if (next) next.times--
  return next?.fault ?? { delay: 0 }
}

/** Reads a request, and the text of its token. Mock Service Worker passes a `Request` as the options. */
async function readRequest({ tokens }: FakeService, url: string, init: object) {
  const { method = 'GET', headers: sent, body: text }: Partial<FetchInit> = init
  const body = 'text' in init && typeof init.text === 'function' ? await init.text() : String(text ?? '')
  const { authorization = '', ...headers } = Object.fromEntries(new Headers(sent))
  const [, token] = /^bearer +(\S+)$/i.exec(authorization) ?? []
  const { account, scopes } = tokens.get(token ?? '') ?? {}
  const request: FakeRequest = { method, url, headers, body, account, scopes }
  return { request, token }
}

/** Creates what `fetch` returns: the part that the client uses in jsdom, which has no `Response`. */
function writeResponse({ status, headers: fields, body }: FakeResponse): FetchResponse {
  const headers = new Headers(fields)
  if (typeof Response === 'undefined') return { status, headers, text: async () => body }
  return new Response(body || null, { status, headers })
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
