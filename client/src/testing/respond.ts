import { endpoints } from '../generated/endpoints.ts'
import type { ErrorName } from '../generated/error-codes.ts'
import { routes } from '../generated/routes.ts'
import { findOperations, InvalidValue, readValues, type Target } from './endpoint.ts'
import type { RequestHead } from './fetch.ts'
import { createAccount, handlers } from './handlers.ts'
import { emptyResponse, errorResponse, type FakeResponse } from './response.ts'
import type { FakeState } from './state.ts'

const CHALLENGE = 'Bearer realm="plant-store"'
/** The credentials of RFC 6750 section 2.1; the scheme is case-insensitive (RFC 9110 section 11.1). */
const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i
const JSON_MEDIA_TYPE = /^application\/json[ \t]*(?:;[ \t]*(?:charset=(?:utf-8|"utf-8")[ \t]*(?:;[ \t]*)?)?)?$/i

/** Responds to a request as the service does, with its order of checks: path, method, token, scope, body. */
export function respond(request: RequestHead, body: string, state: FakeState): FakeResponse {
  const { pathname, searchParams: query } = new URL(request.url)
  const path = pathname.startsWith(state.basePath) ? pathname.slice(state.basePath.length) : ''
  const candidates = findOperations(path)
  if (candidates.length === 0) return errorResponse('notFound')
  const method = request.method === 'HEAD' ? 'GET' : request.method
  const operation = candidates.find(({ name }) => routes[name].method === method)
  if (!operation) return respondToOtherMethod(method, candidates)
  const endpoint = endpoints[operation.name]
  const { headers } = request
  const authorization = headers.get('authorization') ?? ''
  if (!/^bearer\b/i.test(authorization)) return unauthorized('tokenMissing', '')
  const token = state.tokens.get(BEARER.exec(authorization)?.[1] ?? '')
  if (!token) return unauthorized('tokenInvalid')
  const { account = 'default', scopes = ['read', 'write'], expiresAt } = token
  if (expiresAt && expiresAt.getTime() <= Date.now()) return unauthorized('tokenEnded')
  if (!scopes.some((scope) => scope === endpoint.scope)) {
    return errorResponse('scopeMissing', {
      message: `The token lacks the scope "${endpoint.scope}" that this operation needs.`,
      headers: { 'www-authenticate': `${CHALLENGE}, error="insufficient_scope", scope="${endpoint.scope}"` },
    })
  }
  if (new Blob([body]).size > state.bodyLimit) {
    return errorResponse('bodyTooLarge', {
      message: `The body is larger than ${state.bodyLimit} bytes. Send a smaller one.`,
    })
  }
  const mediaTypeError = endpoint.body && checkMediaType(headers)
  if (mediaTypeError) return mediaTypeError
  try {
    const values = readValues(endpoint, { operation, query, headers, body })
    const data = state.accounts.get(account) ?? createAccount()
    state.accounts.set(account, data)
    return handlers[operation.name](values, data)
  } catch (error) {
    if (!(error instanceof InvalidValue)) throw error
    return errorResponse(error.reason, error.message ? { message: error.message } : {})
  }
}

function checkMediaType(headers: Headers): FakeResponse | undefined {
  if (!JSON_MEDIA_TYPE.test(headers.get('content-type') ?? '')) {
    return errorResponse('unsupportedMediaType', {
      message: 'Content-Type: must be application/json, in UTF-8',
      headers: { accept: 'application/json' },
    })
  }
  if ((headers.get('content-encoding') ?? 'identity').toLowerCase() === 'identity') return undefined
  return errorResponse('unsupportedMediaType', {
    message: 'Content-Encoding: the body must be sent uncompressed',
    headers: { 'accept-encoding': 'identity' },
  })
}

/** Responds to a method without an operation, for the path of the first candidate. */
function respondToOtherMethod(method: string, candidates: readonly Target[]): FakeResponse {
  const found = candidates.map(({ name }) => routes[name])
  const methods = found.filter(({ path }) => path === found[0]?.path).map((route) => route.method)
  const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].sort().join(', ')
  if (method === 'OPTIONS') return emptyResponse(204, { allow })
  return errorResponse('methodNotAllowed', { message: `Method not allowed. Use ${allow}.`, headers: { allow } })
}

/** RFC 6750 section 3: `error` is named only where a token was sent. */
function unauthorized(name: ErrorName, error = ', error="invalid_token"'): FakeResponse {
  return errorResponse(name, { headers: { 'www-authenticate': CHALLENGE + error } })
}
