import { ApiError, UsageError } from '../errors.ts'
import { errorMessages } from '../generated/error-codes.ts'
import { type OperationName, routes } from '../generated/routes.ts'
import { readObject } from '../wire/read.ts'
import { exactly } from '../wire/read-exactly.ts'
import { createApiError } from './api-error.ts'
import { type FakeResponse, jsonResponse, type ReceivedRequest } from './fetch.ts'
import type { FakeToken, StoredPlant } from './types.ts'

const MAX_BODY_SIZE = 2 ** 20
const MAX_PAGE_SIZE = 1000
const CURSOR = /^fake-(\d+)$/

/** The state of the fake. */
export interface FakeState {
  /** The path of the base URL, without a slash at the end. */
  readonly basePath: string
  readonly tokens: Map<string, FakeToken>
  readonly accounts: Map<string, Account>
}

/** The data of an account: its plants by id, in order of creation. */
interface Account {
  readonly plants: Map<bigint, { readonly sequence: number; readonly plant: StoredPlant }>
  /** The sequence of the last plant. */
  sequence: number
}

/** A request whose path and token are valid. */
interface Received {
  /** The segments of the path, by the name of their parameter. */
  readonly path: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  readonly body: string
}

/** What an operation responds with. Default: status 200 without more headers. */
interface HandlerResponse {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** How an operation responds. */
interface Handler {
  /** The scope that a token must have. */
  readonly scope: 'read' | 'write'
  respond(request: Received, account: Account): HandlerResponse
}

/** The handler of each operation. Without the handler of an operation that the contract adds, this does not compile. */
const handlers: Record<OperationName, Handler> = {
  createPlant: {
    scope: 'write',
    respond({ body }, account) {
      const plant = readPlant(body)
      const { id, ...shown } = plant
      const stored = account.plants.get(id)?.plant ?? plant
      if (stored.name !== plant.name || stored.tag !== plant.tag)
        throw createApiError({ name: 'idTaken', message: errorMessages.idTaken })
      if (stored === plant) account.plants.set(id, { sequence: ++account.sequence, plant })
      return { body: shown }
    },
  },

  getPlants: {
    scope: 'read',
    respond({ query }, account) {
      const limit = readLimit(query.get('limit'))
      const start = readCursor(query.get('cursor'), account)
      const left = [...account.plants.values()].filter(({ sequence }) => sequence > start)
      const page = left.slice(0, limit)
      const link = page.length < left.length && `<?limit=${limit}&cursor=fake-${page.at(-1)?.sequence}>; rel="next"`
      return { body: page.map(({ plant: { id: _, ...shown } }) => shown), headers: link ? { link } : {} }
    },
  },
}

/** Responds to a request as the service does, with its order of checks: path, method, token, scope, body. */
export function respond(request: ReceivedRequest, state: FakeState): FakeResponse {
  const response = tryToRespond(request, state)
  // The id of the client is returned, where it is valid.
  const id = request.headers.get('x-request-id') ?? ''
  return /^[\w.-]{1,64}$/.test(id) ? { ...response, headers: { ...response.headers, 'x-request-id': id } } : response
}

function tryToRespond({ method, url, headers, body }: ReceivedRequest, state: FakeState): FakeResponse {
  try {
    const { pathname, searchParams: query } = new URL(url)
    const path = pathname.startsWith(state.basePath) ? pathname.slice(state.basePath.length) : ''
    const found = (Object.keys(routes) as OperationName[]).flatMap((name) => matchPath(name, path))
    const target = found.find(({ name }) => routes[name].method === method)
    if (!target) throw createApiError({ name: found.length > 0 ? 'methodNotAllowed' : 'notFound' })
    const account = authenticate(headers.get('authorization') ?? '', handlers[target.name].scope, state)
    return handle(target.name, { path: target.segments, query, body }, account, state)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return jsonResponse(error.status, error.body, Object.fromEntries(error.headers as Headers))
  }
}

/**
 * Handles a request of an account.
 *
 * @throws ApiError if the service would reject it
 */
export function handle(operation: OperationName, request: Received, account: string, state: FakeState): FakeResponse {
  // jsdom has no TextEncoder.
  if (new Blob([request.body]).size > MAX_BODY_SIZE) {
    const message = errorMessages.bodyTooLarge.replace('{limit}', String(MAX_BODY_SIZE))
    throw createApiError({ name: 'bodyTooLarge', message })
  }
  const data = state.accounts.get(account) ?? { plants: new Map(), sequence: 0 }
  state.accounts.set(account, data)
  const { status = 200, headers = {}, body } = handlers[operation].respond(request, data)
  return jsonResponse(status, body, headers)
}

function matchPath(name: OperationName, path: string): { name: OperationName; segments: Record<string, string> }[] {
  const pattern = routes[name].path.replaceAll('.', '\\.').replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')
  const found = new RegExp(`^${pattern}$`).exec(path)
  const segments = Object.entries(found?.groups ?? {}).map(([key, text]) => [key, decodeURIComponent(text)])
  return found ? [{ name, segments: Object.fromEntries(segments) }] : []
}

/** Returns the account of a token. RFC 6750 section 3: `error` is named only where a token was sent. */
function authenticate(authorization: string, scope: 'read' | 'write', { tokens }: FakeState): string {
  const [, text] = /^bearer +(\S+)$/i.exec(authorization) ?? []
  if (text === undefined) throw createApiError({ name: 'tokenMissing', headers: challenge() })
  const token = tokens.get(text)
  const headers = challenge(', error="invalid_token"')
  if (!token) throw createApiError({ name: 'tokenInvalid', headers })
  const { account = 'default', scopes = ['read', 'write'], expiresAt } = token
  if (expiresAt && expiresAt.getTime() <= Date.now()) throw createApiError({ name: 'tokenEnded', headers })
  if (scopes.includes(scope)) return account
  throw createApiError({
    name: 'scopeMissing',
    message: errorMessages.scopeMissing.replace('{scope}', scope),
    headers: challenge(`, error="insufficient_scope", scope="${scope}"`),
  })
}

function challenge(parameters = ''): Record<string, string> {
  return { 'www-authenticate': `Bearer realm="plant-store"${parameters}` }
}

/** Reads a plant. The service ignores unknown fields; the rest is valid if the client could send it. */
function readPlant(body: string): StoredPlant {
  const read = readObject(exactly({ id: 'int64' }))
  try {
    const { id, name, tag } = read(body) as Record<string, unknown>
    return read(routes.createPlant.body?.({ id, name, tag }, '') ?? '') as StoredPlant
  } catch (error) {
    if (error instanceof SyntaxError) throw createApiError({ name: 'malformedJson' })
    throw createApiError({ name: 'invalidBody', message: error instanceof UsageError ? error.message : undefined })
  }
}

function readLimit(text: string | null): number {
  const limit = Number(text ?? MAX_PAGE_SIZE)
  if (!/^\d{1,9}$/.test(text ?? '1') || limit < 1 || limit > MAX_PAGE_SIZE) {
    throw createApiError({ name: 'invalidQuery', message: errorMessages.invalidLimit })
  }
  return text === null ? Number.POSITIVE_INFINITY : limit
}

function readCursor(text: string | null, { sequence }: Account): number {
  const start = text === null ? 0 : Number(CURSOR.exec(text)?.[1])
  if (start <= sequence) return start
  throw createApiError({ name: 'invalidQuery', message: errorMessages.invalidCursor })
}
