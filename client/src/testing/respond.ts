import { ApiError } from '../errors.ts'
import { type ErrorName, errorCodes, errorMessages, errorReasons } from '../generated/error-codes.ts'
import type { Operations } from '../generated/operations.ts'
// biome-ignore lint/suspicious/noImportCycles: what is generated takes only types from here.
import { requestRules } from '../generated/requests.ts'
import { type OperationName, routes } from '../generated/routes.ts'
import type { Plant } from '../generated/types.ts'
import { readHead } from '../wire/response.ts'
import { isObject, orUndefined, requireKnown } from '../wire/values.ts'

/** A plant in the fake. */
export interface StoredPlant extends Plant {
  readonly id: bigint
}

/** The data of an account: its plants by id, in order of creation. */
interface Account {
  /** Tells the cursors of accounts apart. */
  readonly number: number
  readonly plants: Map<bigint, StoredPlant>
}

/** The state of the fake. */
export interface FakeState {
  readonly baseUrl: string
  /** The account of each token; undefined if it was revoked. */
  readonly tokens: Map<string, string | undefined>
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

/** The fields of each part of a request. */
export type RequestRules = { readonly [part in 'path' | 'query' | 'body']: Readonly<Record<string, Rule>> }

/** How each operation responds to a valid input. An operation without a handler does not compile. */
type Handlers = {
  [TName in OperationName]: (
    input: NonNullable<Parameters<Operations[TName]>[0]>,
    account: Account,
  ) => { readonly data: Awaited<ReturnType<Operations[TName]>>; readonly next?: string | undefined }
}

const handlers: Handlers = {
  createPlant(input, { plants }) {
    const plant = { ...input, id: BigInt(input.id) } as StoredPlant
    const stored = plants.get(plant.id) ?? plant
    if (stored.name !== plant.name || stored.tag !== plant.tag) reject('idTaken', errorMessages.idTaken)
    plants.set(plant.id, stored)
    return { data: toBody(plant) }
  },

  getPlants({ limit, cursor = '' }, { number, plants }) {
    const all = [...plants.values()]
    const [, owner, last] = /^fake-(\d+)-(-?\d+)$/.exec(cursor) ?? []
    const start = 1 + all.findIndex(({ id }) => String(id) === last)
    if (cursor && (Number(owner) !== number || start === 0)) reject('invalidQuery', errorMessages.invalidCursor)
    const page = all.slice(start, limit && start + limit)
    const isLast = start + page.length === all.length
    return { data: page.map(toBody), next: isLast ? undefined : `fake-${number}-${page.at(-1)?.id}` }
  },
}

function toBody({ id: _, ...shown }: StoredPlant): Plant {
  return shown
}

/** Responds to a request as the service does, with its order of checks: path and method, token, body, fields. */
export function respond(request: FakeRequest, state: FakeState): FakeResponse {
  try {
    const [, path = '', query = ''] = /^([^?]*)\??(.*)/.exec(request.url.replace(state.baseUrl, '')) ?? []
    const operation = (Object.keys(routes) as OperationName[]).find(
      (name) => routes[name].method === request.method && patternOf(name).test(path),
    )
    if (!operation) return reject('notFound')
    const account = authenticate(request.headers['authorization'] ?? '', state)
    const parameters = new URLSearchParams(query)
    const input = readInput(operation, patternOf(operation).exec(path)?.groups ?? {}, parameters, request.body)
    const { data, next } = handle(operation, input, account, state)
    if (next !== undefined) parameters.set('cursor', next)
    const headers = next === undefined ? {} : { link: `<?${parameters}>; rel="next"` }
    return jsonResponse(routes[operation].status, data, headers)
  } catch (error) {
    if (error instanceof ApiError) return toResponse(error)
    throw error
  }
}

/** Handles the input of an operation that was checked. */
export function handle(operation: OperationName, input: unknown, account: string, { accounts }: FakeState) {
  const data = accounts.get(account) ?? { number: accounts.size, plants: new Map() }
  accounts.set(account, data)
  return (handlers[operation] as (input: unknown, account: Account) => { data: unknown; next?: string })(input, data)
}

function patternOf(name: OperationName): RegExp {
  return new RegExp(`^${routes[name].path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`)
}

/** Returns the account of a token. */
function authenticate(authorization: string, { tokens }: FakeState): string {
  const [, token] = /^bearer +(\S+)$/i.exec(authorization) ?? []
  if (token === undefined) return reject('tokenMissing')
  const account = tokens.get(token)
  if (account === undefined) return reject(tokens.has(token) ? 'tokenEnded' : 'tokenInvalid')
  return account
}

/** Reads the input of an operation from the parts of a request, each of which has an error of its own. */
function readInput(operation: OperationName, segments: Record<string, string>, query: URLSearchParams, body: string) {
  const rules = requestRules[operation]
  const json = routes[operation].body && readJson(body)
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

/** Parses a body, with integers above 2^53 as bigints, in place of which texts are parsed that no text of the service is. */
function readJson(body: string): Readonly<Record<string, unknown>> {
  const marked = body.replace(
    /("(?:[^"\\]+|\\.)*")|-?\d{16,}(?![\d.eE])/g,
    (digits, text) => text ?? `"\\u0000${digits}"`,
  )
  const revive = (_: string, value: unknown) => (/^\0-?\d+$/.test(`${value}`) ? BigInt(`${value}`.slice(1)) : value)
  const json: unknown = orUndefined(() => JSON.parse(marked, revive))
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
export function toResponse({ status, body }: ApiError): FakeResponse {
  return jsonResponse(status, body, {})
}

/** Creates a response with a JSON body, unless that is undefined. */
function jsonResponse(status: number, data: unknown, headers: Readonly<Record<string, string>>) {
  const body = JSON.stringify(data) ?? ''
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
  const head = readHead(response.status, new Headers(response.headers))
  return new ApiError({ error: code, message }, head, { attempts: 1 })
}
