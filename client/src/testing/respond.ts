import type { ErrorName } from '../generated/error-codes.ts'
import { errorResponse, type FakeResponse, jsonResponse } from './response.ts'
import type { FakeState, Plants, StoredPlant } from './state.ts'

const MAX_PAGE_SIZE = 1000
const CURSOR = /^fake-(\d+)$/
const CHALLENGE = 'Bearer realm="plant-store"'
const JSON_MEDIA_TYPE = /^application\/json\s*(?:;\s*charset="?utf-8"?\s*)?$/i

/** Responds to a request of the client as the service does, with its order of checks: path, token, scope, body. */
export function respond(request: Request, body: string, state: FakeState): FakeResponse {
  const { pathname, searchParams } = new URL(request.url)
  if (pathname !== state.path) return errorResponse('notFound')
  const scope = request.method === 'POST' ? 'write' : 'read'
  const authorization = request.headers.get('authorization') ?? ''
  const token = state.tokens.get(authorization.replace('Bearer ', ''))
  if (!token) return unauthorized('tokenInvalid')
  const { account = 'default', scopes = ['read', 'write'], expiresAt } = token
  if (expiresAt && expiresAt.getTime() <= Date.now()) return unauthorized('tokenEnded')
  if (!scopes.includes(scope)) {
    return errorResponse('scopeMissing', {
      message: `The token lacks the scope "${scope}" that this operation needs.`,
      headers: { 'www-authenticate': `${CHALLENGE}, error="insufficient_scope", scope="${scope}"` },
    })
  }
  const plants: Plants = state.accounts.get(account) ?? new Map()
  state.accounts.set(account, plants)
  if (scope === 'read') return listPlants(plants, searchParams)
  if (new TextEncoder().encode(body).length > state.bodyLimit) {
    return errorResponse('bodyTooLarge', {
      message: `The body is larger than ${state.bodyLimit} bytes. Send a smaller one.`,
    })
  }
  if (!JSON_MEDIA_TYPE.test(request.headers.get('content-type') ?? '')) {
    return errorResponse('unsupportedMediaType', { message: 'Content-Type: must be application/json, in UTF-8' })
  }
  return createPlant(plants, readNewPlant(body))
}

function unauthorized(name: ErrorName): FakeResponse {
  return errorResponse(name, { headers: { 'www-authenticate': `${CHALLENGE}, error="invalid_token"` } })
}

/** Reads the body that the client wrote, and the id from its digits, because `JSON.parse` would round it. */
function readNewPlant(body: string): StoredPlant {
  const [, id = ''] = /"id":(-?\d+)/.exec(body) ?? []
  const plant: StoredPlant = JSON.parse(body)
  return { ...plant, id: BigInt(id) }
}

function createPlant(plants: Plants, plant: StoredPlant): FakeResponse {
  const stored = plants.get(plant.id)
  if (stored && (stored.name !== plant.name || stored.tag !== plant.tag)) {
    return errorResponse('idTaken', { message: 'id: is taken by another plant of this account. Choose another id.' })
  }
  plants.set(plant.id, plant)
  return jsonResponse(200, withoutId(plant))
}

function listPlants(plants: Plants, query: URLSearchParams): FakeResponse {
  const cursor = query.get('cursor')
  const start = cursor === null ? 0 : Number(CURSOR.exec(cursor)?.[1])
  const limit = query.has('limit') ? Number(query.get('limit')) : undefined
  if (limit !== undefined && (limit < 1 || limit > MAX_PAGE_SIZE)) {
    return errorResponse('invalidQuery', { message: `limit: must be an integer between 1 and ${MAX_PAGE_SIZE}` })
  }
  if (!(start <= plants.size)) {
    return errorResponse('invalidQuery', { message: 'cursor: must be taken from the Link header of an earlier page' })
  }
  const end = start + (limit ?? plants.size)
  const headers = end < plants.size && { link: `<?limit=${limit}&cursor=fake-${end}>; rel="next"` }
  return jsonResponse(200, [...plants.values()].slice(start, end).map(withoutId), headers || {})
}

function withoutId({ id: _, ...plant }: StoredPlant): object {
  return plant
}
