/** How the fake responds to a request: as the service, with its order of checks. */
import { ApiError } from '../errors.ts'
import { type ErrorName, errorCodes, errorMessages } from '../generated/error-codes.ts'
import { requestRules } from '../generated/requests.ts'
import { type OperationName, routes } from '../generated/routes.ts'
import type { FetchInit, FetchResponse, Signal } from '../options.ts'
import { orUndefined } from '../values.ts'
import { writeJson } from '../wire/json.ts'
import { readInput, type Scope } from './input.ts'
import { type Account, type Handler, handlers, type OperationResult, rejectRequest, statusOf } from './operations.ts'

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

/** What the fake stores. */
export interface FakeService {
  readonly baseUrl: string
  /** By their texts. */
  readonly tokens: Map<string, FakeToken>
  /** By their names. */
  readonly accounts: Map<string, Account>
  readonly requests: FakeRequest[]
  /** The faults of the next requests of an operation; undefined: of any. */
  readonly faults: { readonly fault: Fault; readonly operation: OperationName | undefined; times: number }[]
}

/** A response of the fake; the body is empty if there is none. */
type FakeResponse = Pick<FakeRequest, 'headers' | 'body'> & { readonly status: number }

/** Receives a request, and responds to it, unless a fault is next. */
export async function receive(service: FakeService, url: string, init: object): Promise<FetchResponse> {
  const { method = 'GET', headers: sent, body: text, signal }: Partial<FetchInit> = init
  // Mock Service Worker passes a `Request` as the options.
  const body = 'text' in init && typeof init.text === 'function' ? await init.text() : String(text ?? '')
  const { authorization = '', ...headers } = Object.fromEntries(new Headers(sent))
  const [, token] = /^bearer +(\S+)$/i.exec(authorization) ?? []
  const { account, scopes } = service.tokens.get(token ?? '') ?? {}
  const request: FakeRequest = { method, url, headers, body, account, scopes }
  service.requests.push(request)
  const fault = takeFault(service, request)
  signal?.throwIfAborted()
  if (fault instanceof Error) throw fault
  const response = respond(service, request, token, fault)
  if (fault.delay) await wait(fault.delay, signal)
  const all = new Headers({ ...response.headers, ...fault.headers })
  // The part that the client uses, for jsdom, which has no `Response`.
  if (typeof Response === 'undefined') return { ...response, headers: all, text: async () => response.body }
  return new Response(response.body || null, { status: response.status, headers: all })
}

/** Takes the fault that is next for a request. */
function takeFault(service: FakeService, request: FakeRequest): Fault {
  const called = orUndefined(() => findOperation(service, request).operation)
  const next = service.faults.find(({ operation = called, times }) => operation === called && times > 0)
  if (next) next.times--
  return next?.fault ?? { delay: 0 }
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

/** Responds to a request. Its order of checks: path, method, token, scope, size, body, fields. */
function respond(
  service: FakeService,
  request: FakeRequest,
  token: string | undefined,
  fault: Exclude<Fault, Error>,
): FakeResponse {
  try {
    if ('error' in fault) rejectRequest(fault.error)
    if ('status' in fault) return respondWith(fault.status, fault.body)
    const { operation, segments, query } = findOperation(service, request)
    const account = authenticate(service, token, requestRules[operation].scope)
    const input = readInput(operation, segments, query, request.body)
    const { body, page } = (handlers[operation] as Handler<unknown, unknown>)(input, account)
    return jsonResponse(routes[operation].status, body, page && { link: writeLinks(query, page) })
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return jsonResponse(error.status, error.body)
  }
}

/** Finds the operation of a request, and what its path and query say. */
function findOperation({ baseUrl }: FakeService, { method, url }: FakeRequest) {
  const [path = '', query = ''] = url.replace(baseUrl, '').split(/\?(.*)/s)
  // Text in a path comes before a parameter at the same place, as in the service.
  const atPath = (Object.keys(requestRules) as OperationName[]).flatMap((operation) => {
    const match = new RegExp(requestRules[operation].pattern).exec(path)
    return match ? [{ operation, segments: match.groups ?? {}, query }] : []
  })
  const error = atPath.length > 0 ? 'methodNotAllowed' : 'notFound'
  return atPath.find(({ operation }) => routes[operation].method === method) ?? rejectRequest(error)
}

/** Returns the account of a token that is valid and has a scope. */
function authenticate(service: FakeService, token: string | undefined, scope: Scope): Account {
  if (token === undefined) return rejectRequest('tokenMissing')
  const { account, scopes, expiresAt } = service.tokens.get(token) ?? rejectRequest('tokenInvalid')
  if (expiresAt && expiresAt <= new Date()) rejectRequest('tokenEnded')
  if (!scopes.includes(scope)) rejectRequest('scopeMissing', errorMessages.scopeMissing.replace('{scope}', scope))
  return accountOf(service, account)
}

/** Returns an account, which is empty until its first plant. */
export function accountOf({ accounts }: FakeService, name: string): Account {
  const account = accounts.get(name) ?? { number: accounts.size, plants: new Map(), lastSeq: 0 }
  accounts.set(name, account)
  return account
}

/** Returns the `Link` header of a page: to the next one, and to its end, each with every parameter of this one. */
function writeLinks(query: string, { endCursor, hasNextPage }: NonNullable<OperationResult<unknown>['page']>): string {
  const parameters = new URLSearchParams(`?${query}`)
  parameters.set('cursor', endCursor)
  return [...(hasNextPage ? ['next'] : []), 'end'].map((relation) => `<?${parameters}>; rel="${relation}"`).join(', ')
}

/** Creates the response of a fault. */
function respondWith(status: number, body = ''): FakeResponse {
  const name = (Object.keys(errorCodes) as ErrorName[]).find((each) => statusOf(each) === status)
  return body || !name ? { status, headers: {}, body } : rejectRequest(name)
}

/** Creates a response with a JSON body, unless that is undefined. */
function jsonResponse(status: number, data: unknown, headers?: Readonly<Record<string, string>>): FakeResponse {
  const body = writeJson(data, 'body') ?? ''
  const type = body ? { 'content-type': 'application/json; charset=utf-8' } : undefined
  const requestId = `fake-${Math.random().toString(36).slice(2)}`
  return { status, headers: { ...type, 'x-request-id': requestId, ...headers }, body }
}
