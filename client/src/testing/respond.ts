import { ApiError } from '../errors.ts'
import { type ErrorName, errorCodes, errorMessages, errorReasons } from '../generated/error-codes.ts'
import type { Operations } from '../generated/operations.ts'
// biome-ignore lint/suspicious/noImportCycles: what is generated takes only types from here.
import { requestRules } from '../generated/requests.ts'
import { type OperationName, routes } from '../generated/routes.ts'
import type { Plant } from '../generated/types.ts'
import { type Int64s, readJson, writeJson } from '../wire/json.ts'
import { readHead } from '../wire/response.ts'
import { isObject, orUndefined, requireKnown } from '../wire/values.ts'

/** A plant in the fake. */
export interface StoredPlant extends Plant {
  readonly id: bigint
}

/** A plant and its position in the list of its account, which no other one gets. */
type Row = StoredPlant & { readonly position: number }

/** The data of an account: its plants by id, in order of creation. */
interface Account {
  /** Tells the cursors of accounts apart. */
  readonly number: number
  readonly plants: Map<bigint, Row>
  lastPosition: number
}

/** A scope of a token. */
export type Scope = 'read' | 'write'

/** A token of the fake. */
export interface FakeToken {
  readonly account: string
  readonly scopes: readonly Scope[]
  /** When it ends; undefined: never. */
  readonly expiresAt?: Date | undefined
}

/** The state of the fake. */
export interface FakeState {
  readonly baseUrl: string
  readonly tokens: Map<string, FakeToken>
  readonly accounts: Map<string, Account>
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

/** A response of the fake. */
type FakeResponse = ReturnType<typeof jsonResponse>

/** What the service accepts as the value of a field. */
interface Rule {
  readonly required?: boolean
  readonly type: string
  readonly values?: readonly unknown[]
  readonly items?: Rule
  readonly minimum?: number | bigint
  readonly maximum?: number | bigint
  /** What it says about another value. */
  readonly message: string
}

/** The scope that an operation needs, and the fields of each part of its request. */
export interface RequestRules extends Readonly<Record<'path' | 'query' | 'body', Readonly<Record<string, Rule>>>> {
  readonly scope: Scope
}

/** Responds to a valid request of an account. */
export type Handler<TInput, TData> = (input: TInput, account: Account) => HandlerResult<TData>

/** How an operation responds, unless it throws an `ApiError`. */
interface HandlerResult<TData> {
  readonly data: TData
  /**
   * The fields of the input that the handler has not used: none. `({ limit, ...unused }) => ({ data, unused })` does not compile
   * until it takes each field out, so that none that is added to the contract is forgotten.
   */
  readonly unused: Readonly<Record<string, never>>
  /** The cursor of the next page; undefined: there is none. */
  readonly nextCursor?: string | undefined
}

type Input<TName extends OperationName> = NonNullable<Parameters<Operations[TName]>[0]>

/** Every operation, by name. One without a handler does not compile. */
type Handlers = { [TName in OperationName]: Handler<Input<TName>, Awaited<ReturnType<Operations[TName]>>> }

const handlers: Handlers = {
  createPlant({ id, name, tag, ...unused }, account) {
    const key = BigInt(id)
    const position = account.lastPosition + 1
    const plant = account.plants.get(key) ?? { id: key, name, ...(tag !== undefined && { tag }), position }
    if (plant.name !== name || plant.tag !== tag) reject('idTaken', errorMessages.idTaken)
    account.plants.set(key, plant)
    account.lastPosition = position
    return { data: toBody(plant), unused }
  },

  getPlants({ limit, cursor, ...unused }, { number, plants }) {
    const after = cursor === undefined ? 0 : readCursor(cursor, number)
    const rest = [...plants.values()].filter(({ position }) => position > after)
    const page = rest.slice(0, limit)
    const nextCursor = page.length < rest.length ? btoa(`${number}:${page.at(-1)?.position}`) : undefined
    return { data: page.map(toBody), nextCursor, unused }
  },
}

/** Returns the position in a cursor. Its plant may be deleted. */
function readCursor(cursor: string, account: number): number {
  const [, owner, position] = /^(\d+):(\d+)$/.exec(orUndefined(() => atob(cursor)) ?? '') ?? []
  if (Number(owner) !== account) reject('invalidQuery', errorMessages.invalidCursor)
  return Number(position)
}

function toBody({ id: _, position: __, ...shown }: Row): Plant {
  return shown
}

/** Returns the plants of an account. */
export function listPlants(account: string, { accounts }: FakeState): StoredPlant[] {
  return [...(accounts.get(account)?.plants.values() ?? [])].map(({ position: _, ...plant }) => plant)
}

/** Finds the operations at the path of a URL. */
export function findOperations(url: string, { baseUrl }: FakeState): OperationName[] {
  const [path = ''] = url.replace(baseUrl, '').split('?')
  return (Object.keys(routes) as OperationName[]).filter((name) => patternOf(name).test(path))
}

/** Responds to a request as the service does, with its order of checks: path, method, token, scope, size, body, fields. */
export function respond(request: FakeRequest, token: string | undefined, state: FakeState): FakeResponse {
  try {
    const names = findOperations(request.url, state)
    if (names.length === 0) reject('notFound')
    const operation = names.find((name) => routes[name].method === request.method)
    if (!operation) return respondToOtherMethod(request.method, names)
    const account = authenticate(token, requestRules[operation].scope, state)
    const [path = '', query] = request.url.replace(state.baseUrl, '').split('?')
    const parameters = new URLSearchParams(query)
    const input = readInput(operation, patternOf(operation).exec(path)?.groups ?? {}, parameters, request.body)
    const { data, nextCursor } = handle(operation, input, account, state)
    if (nextCursor !== undefined) parameters.set('cursor', nextCursor)
    const headers = nextCursor === undefined ? {} : { link: `<?${parameters}>; rel="next"` }
    return jsonResponse(routes[operation].status, data, headers)
  } catch (error) {
    if (error instanceof ApiError) return toResponse(error)
    throw error
  }
}

function respondToOtherMethod(method: string, names: readonly OperationName[]): FakeResponse {
  const methods = names.map((name) => routes[name].method)
  const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].sort().join(', ')
  if (method === 'OPTIONS') return jsonResponse(204, undefined, { allow })
  throw createApiError({ name: 'methodNotAllowed', message: `Method not allowed. Use ${allow}.`, headers: { allow } })
}

/** Handles the input of an operation that was checked. */
export function handle(operation: OperationName, input: unknown, account: string, { accounts }: FakeState) {
  const data = accounts.get(account) ?? { number: accounts.size, plants: new Map(), lastPosition: 0 }
  accounts.set(account, data)
  return (handlers[operation] as Handler<unknown, unknown>)(input, data)
}

function patternOf(name: OperationName): RegExp {
  return new RegExp(`^${routes[name].path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`)
}

/** Returns the account of a token that is valid and has a scope. */
function authenticate(text: string | undefined, scope: Scope, { tokens }: FakeState): string {
  if (text === undefined) return reject('tokenMissing')
  const token = tokens.get(text)
  if (!token) return reject('tokenInvalid')
  if (token.expiresAt && token.expiresAt <= new Date()) reject('tokenEnded')
  if (!token.scopes.includes(scope))
    reject('scopeMissing', `The token lacks the scope "${scope}" that this operation needs.`)
  return token.account
}

/** The largest body of the service, in bytes. */
const MAX_BODY_BYTES = 100 * 1024

/** Reads the input of an operation from the parts of a request, each of which has an error of its own. */
function readInput(operation: OperationName, segments: Record<string, string>, query: URLSearchParams, body: string) {
  const rules = requestRules[operation]
  const { body: isSent, int64s } = routes[operation]
  const json = isSent && readBody(body, int64s)
  return {
    // A malformed escape becomes U+0000, which is invalid in every path.
    ...check('notFound', rules.path, (name, rule) =>
      readText(orUndefined(() => decodeURIComponent(segments[name] ?? '')) ?? '\0', rule),
    ),
    ...check('invalidQuery', rules.query, (name, rule) => {
      const values = query.getAll(name).map((text) => readText(text, rule.items ?? rule))
      return rule.items && values.length > 0 ? values : values.length > 1 ? REPEATED : values[0]
    }),
    ...check('invalidBody', rules.body, (name) => json?.[name]),
  }
}

/** Stands for a parameter that was sent twice. */
const REPEATED = Symbol('repeated')

/** Parses a body. What is no integer at the place of an int64 stays as it is, so that the check rejects it. */
function readBody(body: string, int64s: Int64s = {}): Readonly<Record<string, unknown>> {
  const isTooLarge = new Blob([body]).size > MAX_BODY_BYTES
  if (isTooLarge) reject('bodyTooLarge', `The body is larger than ${MAX_BODY_BYTES} bytes. Send a smaller one.`)
  const json: unknown = orUndefined(() => readJson(body, int64s)) ?? orUndefined(() => JSON.parse(body))
  if (json === undefined) reject('malformedJson')
  return isObject(json) ? json : reject('invalidBody', 'The body must be an object')
}

function reject(name: ErrorName, message?: string): never {
  throw createApiError({ name, message })
}

/** Reads text as a value of a type. Text that is none stays text, so that the check rejects it. */
function readText(text: string, { type }: Rule): unknown {
  if (type === 'boolean' && /^(true|false)$/.test(text)) return text === 'true'
  if (type !== 'integer' || !/^(0|-?[1-9]\d*)$/.test(text)) return text
  return Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text)
}

/** Checks the fields of a part of a request, and returns those that it has. Names all that are wrong, as the service does. */
function check(
  error: ErrorName,
  rules: Readonly<Record<string, Rule>>,
  read: (name: string, rule: Rule) => unknown,
): object {
  const values = Object.entries(rules).map(([name, rule]) => [name, read(name, rule), rule] as const)
  const wrong = values.flatMap(([name, value, rule]) => explain(name, value, rule))
  const more = wrong.length > MAX_ISSUES ? [`and ${wrong.length - MAX_ISSUES} more`] : []
  if (wrong.length > 0) reject(error, [...wrong.slice(0, MAX_ISSUES), ...more].join('; '))
  return Object.fromEntries(values.filter(([, value]) => value !== undefined))
}

/** How many invalid fields a message of the service names. */
const MAX_ISSUES = 3

/** Explains what is wrong with a value at a path, in the words of the service; empty if nothing is. */
function explain(path: string, value: unknown, rule: Rule): string[] {
  const { required, type, values = [value], items, minimum = -Infinity, maximum = Infinity, message } = rule
  if (value === undefined) return required ? [`${path}: is required`] : []
  if (value === REPEATED) return [`${path}: must appear only once`]
  if (items && Array.isArray(value)) return value.flatMap((item, index) => explain(`${path}.${index}`, item, items))
  const isInteger = typeof value === 'bigint' || Number.isSafeInteger(value)
  const isOfType = type === 'integer' ? isInteger : typeof value === type
  // Exact also where one is a bigint and the other is not.
  const isInRange = !((value as bigint) < minimum) && !((value as bigint) > maximum)
  if (!isOfType || !isInRange || !values.includes(value)) return [`${path}: ${message}`]
  const isSafe = typeof value !== 'string' || !/[\0\uD800-\uDFFF]/u.test(value)
  return isSafe ? [] : [`${path}: must not contain U+0000 or a lone surrogate`]
}

/** Creates the response of an error. */
export function toResponse({ status, body, headers }: ApiError): FakeResponse {
  return jsonResponse(status, body, Object.fromEntries(headers as Headers))
}

/** Creates a response with a JSON body, unless that is undefined. */
function jsonResponse(status: number, data: unknown, headers: Readonly<Record<string, string>>) {
  const body = writeJson(data, () => undefined)
  const type = body && { 'content-type': 'application/json; charset=utf-8' }
  const id = `fake-${Math.random().toString(36).slice(2)}`
  return { status, headers: { ...(type || {}), 'x-request-id': id, ...headers }, body }
}

/** What an error of {@link createApiError} has. */
export interface ApiErrorOptions {
  /** The name of the error in `errorCodes`, which decides about the status and the code. */
  readonly name: ErrorName
  /** The text of the service. Default: the reason in the error catalogue. */
  readonly message?: string | undefined
  /** Additional response headers, such as `retry-after` or `x-request-id`, which is random by default. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/**
 * Creates the error that a client throws when the service responds with an error of the catalogue, for tests that replace
 * the client.
 *
 * @throws {UsageError} An option is unknown.
 *
 * @example
 * const createPlant = vi.fn().mockRejectedValue(createApiError({ name: 'idTaken' }))
 */
export function createApiError(options: ApiErrorOptions): ApiError {
  requireKnown(options, ['name', 'message', 'headers'], 'options')
  const { name, message = errorReasons[name], headers } = options
  const code = errorCodes[name]
  const response = jsonResponse(Math.floor(code / 100), undefined, { ...headers })
  const head = readHead({ ...response, headers: new Headers(response.headers) })
  return new ApiError({ error: code, message }, head, { attempts: 1 })
}
