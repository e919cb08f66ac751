import type { FakeToken, StoredPlant } from './fake-plant-store.ts'
import type { FakeAnswer } from './fault.ts'
import { readNewPlant } from './read-new-plant.ts'
import { answerJson, Failure } from './response.ts'

/** The plants of an account, by id, in order of creation. */
type Plants = Map<bigint, StoredPlant>

/** What the fake knows. */
export interface FakeService {
  readonly bodyLimit: number
  readonly path: string
  readonly tokens: Map<string, FakeToken>
  readonly accounts: Map<string, Plants>
}

const MAXIMUM_PAGE_SIZE = 1000
const CURSOR = /^fake-(\d+)$/
const CHALLENGE = 'Bearer realm="plant-store"'
const JSON_MEDIA_TYPE = /^application\/json\s*(?:;\s*charset="?utf-8"?\s*)?$/i

/** Answers as the service does, its order of checks too: path, method, token, scope, size, media type, body. */
export function answerRequest(request: Request, body: string, service: FakeService): FakeAnswer {
  try {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname !== service.path) throw new Failure('notFound')
    if (request.method === 'GET') return listPlants(plantsOf(request, 'read', service), searchParams)
    if (request.method === 'POST') return createPlant(plantsOf(request, 'write', service), request, body, service)
    throw new Failure('methodNotAllowed', 'This path takes GET, HEAD, OPTIONS, POST.', {
      allow: 'GET, HEAD, OPTIONS, POST',
    })
  } catch (error) {
    if (error instanceof Failure) return error.answer
    throw error
  }
}

/** The plants that the token of a request opens. */
function plantsOf({ headers }: Request, scope: 'read' | 'write', { tokens, accounts }: FakeService): Plants {
  const authorization = headers.get('authorization') ?? ''
  if (!/^bearer\b/i.test(authorization)) {
    throw new Failure('tokenMissing', undefined, { 'www-authenticate': CHALLENGE })
  }
  const invalid = { 'www-authenticate': `${CHALLENGE}, error="invalid_token"` }
  const token = tokens.get(authorization.replace(/^bearer +/i, ''))
  if (!token) throw new Failure('tokenInvalid', undefined, invalid)
  const { account = 'default', scopes = ['read', 'write'], expiresAt } = token
  if (expiresAt && expiresAt.getTime() <= Date.now()) throw new Failure('tokenEnded', undefined, invalid)
  if (!scopes.includes(scope)) {
    throw new Failure('scopeMissing', `The token lacks the scope "${scope}" that this operation needs.`, {
      'www-authenticate': `${CHALLENGE}, error="insufficient_scope", scope="${scope}"`,
    })
  }
  const plants = accounts.get(account) ?? new Map<bigint, StoredPlant>()
  accounts.set(account, plants)
  return plants
}

function createPlant(plants: Plants, { headers }: Request, body: string, { bodyLimit }: FakeService): FakeAnswer {
  if (new TextEncoder().encode(body).length > bodyLimit) {
    throw new Failure(
      'bodyTooLarge',
      `The body is larger than the ${bodyLimit} bytes that the server takes. Send less.`,
    )
  }
  if (!JSON_MEDIA_TYPE.test(headers.get('content-type') ?? '')) {
    throw new Failure('unsupportedMediaType', 'Content-Type: must be application/json, in UTF-8')
  }
  const plant = readNewPlant(body)
  const stored = plants.get(plant.id)
  if (stored && (stored.name !== plant.name || stored.tag !== plant.tag)) {
    throw new Failure('idTaken', 'id: is taken by another plant of this account. Choose another id.')
  }
  plants.set(plant.id, plant)
  return answerJson(200, withoutId(plant))
}

function listPlants(plants: Plants, query: URLSearchParams): FakeAnswer {
  const start = readCursor(query, plants.size)
  const limit = readLimit(query)
  const end = start + (limit ?? plants.size)
  const link = end < plants.size && { link: `<?limit=${limit}&cursor=fake-${end}>; rel="next"` }
  return answerJson(200, [...plants.values()].slice(start, end).map(withoutId), link || {})
}

function readLimit(query: URLSearchParams): number | undefined {
  const text = readOnce(query, 'limit')
  if (text === undefined) return undefined
  if (!/^\d{1,9}$/.test(text)) throw new Failure('invalidQuery', 'limit: must be a whole number')
  if (Number(text) >= 1 && Number(text) <= MAXIMUM_PAGE_SIZE) return Number(text)
  throw new Failure('invalidQuery', `limit: must be between 1 and ${MAXIMUM_PAGE_SIZE}`)
}

function readCursor(query: URLSearchParams, length: number): number {
  const text = readOnce(query, 'cursor')
  if (text === undefined) return 0
  const start = Number(CURSOR.exec(text)?.[1])
  if (start <= length) return start
  throw new Failure('invalidQuery', 'cursor: must be taken from the Link header of an earlier page')
}

function readOnce(query: URLSearchParams, name: string): string | undefined {
  const [value, ...more] = query.getAll(name)
  if (more.length > 0) throw new Failure('invalidQuery', `${name}: must be given once`)
  return value
}

function withoutId({ name, tag }: StoredPlant): object {
  return tag === undefined ? { name } : { name, tag }
}
