/** How the fake responds to a request: as the service, with its order of checks. */
import { ApiError } from '../errors.ts'
import { type ErrorName, errorCodes, errorMessages, limits } from '../generated/error-codes.ts'
// biome-ignore lint/suspicious/noImportCycles: what is generated takes only types from here.
import { requestRules } from '../generated/requests.ts'
import { type OperationName, routes } from '../generated/routes.ts'
import type { FetchInit, FetchResponse, Signal } from '../options.ts'
import { isObject, orUndefined } from '../values.ts'
import { type Int64s, readJson, whyNotExact, writeJson } from '../wire/json.ts'
import { type Account, type Handler, handlers, type OperationResult, rejectRequest, statusOf } from './operations.ts'

/** A scope of a token. */
type Scope = 'read' | 'write'

/** What the service accepts as the value of a field. */
interface Rule {
  readonly required?: boolean
  readonly type: string
  readonly isNullable?: boolean
  readonly values?: readonly unknown[]
  readonly items?: Rule
  readonly fields?: Rules
  /** The limits of a number, or of the length of a text or a list. */
  readonly minimum?: number | bigint
  readonly maximum?: number | bigint
  readonly pattern?: string
  /** What it says about another value. */
  readonly message: string
}

type Rules = Readonly<Record<string, Rule>>

/** The scope that an operation needs, and the fields of each part of its request. */
export interface RequestRules extends Readonly<Record<'path' | 'query' | 'body', Rules>> {
  readonly scope: Scope
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
    const { body, page } = handle(service, operation, input, account)
    const link = page ? { link: writeLinks(query, page) } : {}
    return jsonResponse(routes[operation].status, body, link)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return jsonResponse(error.status, error.body, Object.fromEntries(error.headers as Headers))
  }
}

/**
 * Finds the operation of a request, and what its path and query say. Of several paths that match, the one counts whose
 * first segment that differs is literal, and no other for any method.
 */
function findOperation({ baseUrl }: FakeService, { method, url }: FakeRequest) {
  const [path = '', ...rest] = url.replace(baseUrl, '').split('?')
  const query = rest.join('?')
  const matches = (Object.keys(routes) as OperationName[]).flatMap((operation) => {
    const pattern = routes[operation].path.replaceAll('.', '\\.').replace(PARAMETER, '(?<$1>[^/]+)')
    const match = new RegExp(`^${pattern}$`).exec(path)
    return match ? [{ operation, segments: match.groups ?? {}, query }] : []
  })
  const [first] = matches.map(({ operation }) => shapeOf(operation)).sort()
  if (first === undefined) rejectRequest('notFound')
  const atPath = matches.filter(({ operation }) => shapeOf(operation) === first)
  const methods = atPath.map(({ operation }) => routes[operation].method)
  const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].sort().join(', ')
  const message = errorMessages.methodNotAllowed.replace('{methods}', allow)
  return atPath[methods.indexOf(method)] ?? rejectRequest('methodNotAllowed', message, { allow })
}

/** A parameter in the path of a route. */
const PARAMETER = /\{(\w+)\}/g

/** Returns the path of an operation in which each parameter is the same, and sorted after any text. */
function shapeOf(operation: OperationName): string {
  return routes[operation].path.replace(PARAMETER, '\uffff')
}

/** Returns the account of a token that is valid and has a scope. */
function authenticate({ tokens }: FakeService, token: string | undefined, scope: Scope): string {
  if (token === undefined) return rejectRequest('tokenMissing')
  const { account, scopes, expiresAt } = tokens.get(token) ?? rejectRequest('tokenInvalid')
  if (expiresAt && expiresAt <= new Date()) rejectRequest('tokenEnded')
  if (!scopes.includes(scope)) rejectRequest('scopeMissing', errorMessages.scopeMissing.replace('{scope}', scope))
  return account
}

/**
 * Checks the parts of a request, and reads the input of an operation from them.
 *
 * @throws {ApiError} of the first part that is invalid, with all that is wrong in it
 */
function readInput(
  operation: OperationName,
  segments: Readonly<Record<string, string>>,
  query: string,
  body: string,
): object {
  const rules = requestRules[operation]
  const parameters = new URLSearchParams(`?${query}`)
  const { body: isSent, int64s } = routes[operation]
  const json = isSent && readBody(body, int64s)
  // A malformed escape becomes U+0000, which is invalid in every path.
  const fields = check('notFound', rules.path, (name, rule) =>
    readText(orUndefined(() => decodeURIComponent(segments[name] ?? '')) ?? '\0', rule),
  )
  const isReadable = orUndefined(() => decodeURIComponent(query)) !== undefined
  const isQueryValid = isReadable && [...parameters].length <= limits.parameters
  // One of an operation without parameters is not looked at.
  if (Object.keys(rules.query).length > 0 && !isQueryValid) rejectRequest('invalidQuery', errorMessages.malformedQuery)
  return {
    ...fields,
    ...check('invalidQuery', rules.query, (name, rule) => {
      const values = parameters.getAll(name).map((text) => readText(text, rule.items ?? rule))
      return rule.items && values.length > 0 ? values : values.length > 1 ? REPEATED : values[0]
    }),
    ...check('invalidBody', rules.body, (name) => json?.[name]),
  }
}

/** Stands for a parameter that was sent twice. */
const REPEATED = Symbol('repeated')

/** Parses a body. What is no integer at the place of an int64 stays as it is, so that the check rejects it. */
function readBody(body: string, int64s: Int64s = {}): Readonly<Record<string, unknown>> {
  if (new Blob([body]).size > limits.bodyBytes) rejectRequest('bodyTooLarge', errorMessages.bodyTooLarge)
  const json: unknown = orUndefined(() => readJson(body, int64s)) ?? orUndefined(() => JSON.parse(body))
  if (json === undefined) rejectRequest('malformedJson')
  return isObject(json) ? json : rejectRequest('invalidBody', 'The body must be an object')
}

/** Reads text as a value of a type. Text that is none stays text, so that the check rejects it. */
function readText(text: string, { type }: Rule): unknown {
  if (type === 'boolean' && /^(true|false)$/.test(text)) return text === 'true'
  if (type !== 'integer' || !/^(0|-?[1-9]\d*)$/.test(text)) return text
  return Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text)
}

/**
 * Checks the fields of a part of a request, and returns those that it has. Names all that are
 * wrong, as the service does.
 */
function check(error: ErrorName, rules: Rules, read: (name: string, rule: Rule) => unknown): object {
  const values = Object.entries(rules).map(([name, rule]) => [name, read(name, rule), rule] as const)
  const wrong = values.flatMap(([name, value, rule]) => explain(name, value, rule))
  const more = wrong.length > limits.issues ? [`and ${wrong.length - limits.issues} more`] : []
  if (wrong.length > 0) rejectRequest(error, [...wrong.slice(0, limits.issues), ...more].join('; '))
  return Object.fromEntries(values.filter(([, value]) => value !== undefined))
}

/** Explains what is wrong with a value at a path, in the words of the service; empty if nothing is. */
function explain(path: string, value: unknown, rule: Rule): string[] {
  const { required, isNullable, type, values = [value], items, message } = rule
  if (value === undefined) return required ? [`${path}: is required`] : []
  if (value === null && isNullable) return []
  if (value === REPEATED) return [`${path}: ${errorMessages.duplicateParameter}`]
  const isInteger = typeof value === 'bigint' || Number.isSafeInteger(value)
  const types: Record<string, boolean> = { integer: isInteger, array: Array.isArray(value), object: isObject(value) }
  if (!(types[type] ?? typeof value === type) || !values.includes(value)) return [`${path}: ${message}`]
  const { fields = items ? Object(value) : {}, minimum = -Infinity, maximum = Infinity, pattern = '' } = rule
  const parts = Object.keys(fields).flatMap((key) =>
    explain(`${path}.${key}`, Object(value)[key], items ?? fields[key]),
  )
  // Compared exactly also where one is a bigint and the other is not.
  const size: number = Object(value).length ?? value
  const inexact = typeof value === 'string' ? whyNotExact(value) : undefined
  const isMatch = inexact !== undefined || new RegExp(pattern, 'u').test(String(value))
  const reasons = [inexact, !(isMatch && !(size < minimum) && !(size > maximum)) && message].filter(Boolean)
  return [...parts, ...reasons.map((reason) => `${path}: ${reason}`)]
}

/** Handles an input that was checked. */
export function handle(
  { accounts }: FakeService,
  operation: OperationName,
  input: unknown,
  name: string,
): OperationResult<unknown> {
  const account = accounts.get(name) ?? { number: accounts.size, plants: new Map(), lastSeq: 0 }
  accounts.set(name, account)
  return (handlers[operation] as Handler<unknown, unknown>)(input, account)
}

/** Returns the `Link` header of a page: to the next one, and to its end, each with every parameter of this one. */
function writeLinks(query: string, { endCursor, hasNextPage }: NonNullable<OperationResult<unknown>['page']>): string {
  const parameters = new URLSearchParams(query)
  parameters.set('cursor', endCursor)
  return [...(hasNextPage ? ['next'] : []), 'end'].map((relation) => `<?${parameters}>; rel="${relation}"`).join(', ')
}

/** Creates the response of a fault. */
function respondWith(status: number, body = ''): FakeResponse {
  const name = (Object.keys(errorCodes) as ErrorName[]).find((each) => statusOf(each) === status)
  return body || !name ? { status, headers: {}, body } : rejectRequest(name)
}

/** Creates a response with a JSON body, unless that is undefined. */
function jsonResponse(status: number, data: unknown, headers: Readonly<Record<string, string>>): FakeResponse {
  const body = writeJson(data, undefined, 'body') ?? ''
  const type = body ? { 'content-type': 'application/json; charset=utf-8' } : undefined
  const requestId = `fake-${Math.random().toString(36).slice(2)}`
  return { status, headers: { ...type, 'x-request-id': requestId, ...headers }, body }
}
