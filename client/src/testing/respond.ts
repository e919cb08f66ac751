import type { RawResponse } from '../client.ts'
import { ApiError } from '../errors.ts'
import { type ErrorName, errorMessages } from '../generated/error-codes.ts'
import type { OperationRequests, OperationResponses } from '../generated/operations.ts'
import { requestRules, type Scope, scopes } from '../generated/requests.ts'
import { type OperationName, routes } from '../generated/routes.ts'
import type { Plant } from '../generated/types.ts'
import { exactly } from '../wire/read-exactly.ts'
import { orUndefined, reject } from '../wire/write.ts'
import { createApiError } from './api-error.ts'
import { check, type RequestRules, type Schema } from './check.ts'
import { type FakeRequest, type FakeResponse, jsonResponse } from './fetch.ts'

/** The limits and media types of the service, which the contract does not have. */
const MAX_BODY_SIZE = 2 ** 20
const MAX_HEAD_SIZE = 2 ** 14
const JSON_TYPE = /^application\/json\s*(;|$)/i
const OTHER_CHARSET = /;\s*charset\s*=\s*"?(?!utf-?8\b)\w/i

/** A plant in the fake. */
export interface StoredPlant {
  readonly id: bigint
  readonly name: string
  readonly tag?: string
}

/** What a token of the fake allows. */
export interface FakeToken {
  /** The account that the token belongs to. Default: `default`. */
  readonly account?: string | undefined
  /** Default: all. */
  readonly scopes?: readonly Scope[] | undefined
  /** Default: never. */
  readonly expiresAt?: Date | undefined
}

/** The state of the fake. */
export interface FakeState {
  /** The path of the base URL, without a slash at the end. */
  readonly basePath: string
  readonly tokens: Map<string, FakeToken>
  readonly accounts: Map<string, Account>
}

/** The data of an account: its plants by id, in order of creation. */
interface Account {
  /** Tells the cursors of accounts apart. */
  readonly number: number
  readonly plants: Map<bigint, { readonly sequence: number; readonly plant: StoredPlant }>
  /** The sequence of the last plant. */
  sequence: number
}

/** A request whose path and token are valid. */
interface Received extends Pick<FakeRequest, 'headers' | 'body'> {
  /** The segments of the path as they are written, by the name of their parameter. */
  readonly path: Readonly<Record<string, string>>
  readonly query: string
}

/** What an operation responds with: also headers, and the cursor of the next page. */
type Handled<TResponse = RawResponse<unknown>> = Pick<Extract<TResponse, RawResponse<unknown>>, 'status' | 'data'> & {
  readonly headers?: Readonly<Record<string, string>>
  readonly next?: string | undefined
}

/** How each operation responds to a valid request. An operation without a handler does not compile. */
type Handlers = {
  [TName in OperationName]: (request: OperationRequests[TName], account: Account) => Handled<OperationResponses[TName]>
}

const handlers: Handlers = {
  createPlant({ body }, account) {
    const plant = { ...body, id: BigInt(body.id) } as StoredPlant
    const stored = account.plants.get(plant.id)?.plant ?? plant
    if (stored.name !== plant.name || stored.tag !== plant.tag)
      throw createApiError({ name: 'idTaken', message: errorMessages.idTaken })
    if (stored === plant) account.plants.set(plant.id, { sequence: ++account.sequence, plant })
    return { status: 200, data: toBody(plant) }
  },

  getPlants({ query: { limit, cursor } }, account) {
    const start = readCursor(cursor, account)
    const left = [...account.plants.values()].filter(({ sequence }) => sequence > start)
    const page = left.slice(0, limit)
    const next = page.length < left.length ? `fake-${account.number}-${page.at(-1)?.sequence}` : undefined
    return { status: 200, data: page.map(({ plant }) => toBody(plant)), next }
  },
}

function toBody({ id: _, ...shown }: StoredPlant): Plant {
  return shown
}

function readCursor(text: string | undefined, { number, sequence }: Account): number {
  const [, owner, last] = /^fake-(\d+)-(\d+)$/.exec(text ?? `fake-${number}-0`) ?? []
  if (Number(owner) === number && Number(last) <= sequence) return Number(last)
  throw createApiError({ name: 'invalidQuery', message: errorMessages.invalidCursor })
}

/** Responds to a request as the service does, with its order of checks: path, method, token, scope, body, parameters. */
export function respond({ method, url, headers, body }: FakeRequest, state: FakeState): FakeResponse {
  // The id of the client is returned, where it is valid.
  const id = headers['x-request-id'] ?? ''
  const ownId = /^[\w.-]{1,64}$/.test(id) && { 'x-request-id': id }
  try {
    const { pathname, search: query } = new URL(url)
    if (Object.entries(headers).join().length + url.length > MAX_HEAD_SIZE)
      throw createApiError({ name: 'headersTooLarge' })
    const path = pathname.startsWith(state.basePath) ? pathname.slice(state.basePath.length) : ''
    const found = (Object.keys(routes) as OperationName[]).filter((name) => patternOf(name).test(path))
    const operation = found.find((name) => routes[name].method === method)
    if (!operation) throw createApiError({ name: found.length > 0 ? 'methodNotAllowed' : 'notFound' })
    const account = authenticate(headers['authorization'] ?? '', requestRules[operation].scope, state)
    const segments = patternOf(operation).exec(path)?.groups ?? {}
    const { status, data, ...others } = handle(operation, { path: segments, query, headers, body }, account, state)
    return jsonResponse(status, data, { ...others.headers, ...ownId })
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return jsonResponse(error.status, error.body, { ...Object.fromEntries(error.headers as Headers), ...ownId })
  }
}

function patternOf(name: OperationName): RegExp {
  const pattern = routes[name].path.replaceAll('.', '\\.').replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')
  return new RegExp(`^${pattern}$`)
}

/**
 * Handles a request of an account.
 *
 * @throws ApiError if the service would reject it
 */
export function handle(operation: OperationName, request: Received, account: string, state: FakeState): Handled {
  const rules = requestRules[operation]
  const json = rules.body && readJson(request, rules)
  const parameters = new URLSearchParams(request.query)
  // A malformed escape becomes U+0000, which is invalid in every path.
  const decode = (text: string): string => orUndefined(() => decodeURIComponent(text)) ?? '\0'
  const path = readTexts('notFound', rules.path, (name) => [decode(request.path[name] ?? '')])
  const headers = readTexts('badRequest', rules.headers, (name) => [request.headers[name] ?? []].flat())
  const query = readTexts('invalidQuery', rules.query, (name) => parameters.getAll(name))
  const body = rules.body && rejectAs('invalidBody', () => check(json, rules.body ?? {}, ''))
  const data = state.accounts.get(account) ?? { number: state.accounts.size, plants: new Map(), sequence: 0 }
  state.accounts.set(account, data)
  const handler = handlers[operation] as (request: object, account: Account) => Handled
  const response = handler({ path, headers, query, body }, data)
  if (response.next === undefined) return response
  parameters.set('cursor', response.next)
  return { ...response, headers: { link: `<?${parameters}>; rel="next"`, ...response.headers } }
}

/** Reads the JSON of a body, with its int64s as bigints. */
function readJson({ headers, body }: Received, { int64s }: RequestRules): unknown {
  // jsdom has no TextEncoder.
  if (new Blob([body]).size > MAX_BODY_SIZE) {
    const message = errorMessages.bodyTooLarge.replace('{limit}', String(MAX_BODY_SIZE))
    throw createApiError({ name: 'bodyTooLarge', message })
  }
  const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = headers
  if (!JSON_TYPE.test(type) || OTHER_CHARSET.test(type) || !/^identity$/i.test(encoding)) {
    throw createApiError({ name: 'unsupportedMediaType' })
  }
  try {
    return int64s ? exactly(int64s)(body) : JSON.parse(body)
  } catch (error) {
    const { name, message } = error as Error
    throw createApiError(name === 'SyntaxError' ? { name: 'malformedJson' } : { name: 'invalidBody', message })
  }
}

/** Reads the parameters of one place, which are text, as the values that they have. */
function readTexts(name: ErrorName, schema: Schema = {}, textsOf: (field: string) => string[]): unknown {
  return rejectAs(name, () => {
    const fields = Object.entries(schema.properties ?? {}).flatMap(([field, part]): [string, unknown][] => {
      const values = textsOf(field).map((text) => readText(text, part.items ?? part))
      if (!part.items && values.length > 1) reject(field, 'must appear only once')
      return values.length > 0 ? [[field, part.items ? values : values[0]]] : []
    })
    return check(Object.fromEntries(fields), { ...schema, type: 'object' }, '')
  })
}

/** Reads text as a value of the schema's type. Text that is none stays text, so that the check rejects it. */
function readText(text: string, { type, format }: Schema): unknown {
  if (type === 'boolean' && /^(true|false)$/.test(text)) return text === 'true'
  if (type === 'integer' && /^(0|-?[1-9]\d*)$/.test(text)) return format === 'int64' ? BigInt(text) : Number(text)
  return type === 'number' && text === String(Number(text)) ? Number(text) : text
}

function rejectAs<T>(name: ErrorName, run: () => T): T {
  try {
    return run()
  } catch (error) {
    throw createApiError({ name, message: (error as Error).message })
  }
}

/** Returns the account of a token. RFC 6750 section 3: `error` is named only where a token was sent. */
function authenticate(authorization: string, scope: Scope, { tokens }: FakeState): string {
  const challenge = (parameters = '') => ({ 'www-authenticate': `Bearer realm="plant-store"${parameters}` })
  const [, text] = /^bearer +(\S+)$/i.exec(authorization) ?? []
  if (text === undefined) throw createApiError({ name: 'tokenMissing', headers: challenge() })
  const token = tokens.get(text)
  const headers = challenge(', error="invalid_token"')
  if (!token) throw createApiError({ name: 'tokenInvalid', headers })
  const { account = 'default', scopes: own = scopes, expiresAt } = token
  if (expiresAt && expiresAt.getTime() <= Date.now()) throw createApiError({ name: 'tokenEnded', headers })
  if (own.includes(scope)) return account
  throw createApiError({
    name: 'scopeMissing',
    message: errorMessages.scopeMissing.replace('{scope}', scope),
    headers: challenge(`, error="insufficient_scope", scope="${scope}"`),
  })
}
