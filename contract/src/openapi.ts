/** Creates the OpenAPI document: of each operation the parameters, the body and the responses. */
import { type AppRoute, ContractNoBody, isAppRoute } from '@ts-rest/core'
import * as z from 'zod'
import { contract, type OperationMetadata } from './contract.ts'
import { type ErrorName, ErrorSchema, errorCatalogue, statusOf } from './errors.ts'
import { type Components, describe, reject } from './json-schema.ts'

export type { JsonSchema } from './json-schema.ts'

/** A body, by its media type. */
export type Content = ReturnType<typeof describeBody>

/** A parameter of an operation. */
export type Parameter = ReturnType<typeof describeParameters>['parameters'][number]

/** An operation of the document. */
export type Operation = ReturnType<typeof describeOperation>

/** An OpenAPI 3.1 document. */
export type OpenApiDocument = ReturnType<typeof createOpenApiDocument>

/** What the OpenAPI document needs beyond the contract. */
export interface OpenApiOptions {
  /** The base URL of the service, without a trailing slash. Default: `/`, the origin that served the document. */
  serverUrl?: string | undefined
  /** The operations to describe. Default: the plant store contract. */
  operations?: Record<string, unknown>
}

/** An operation of a contract. */
type Route = AppRoute & { readonly metadata: OperationMetadata }

/** The version of this package: that of `package.json`. `npm run release` sets it, and a test compares them. */
const VERSION = '1.0.0'

/** Most generated clients are not exact here: this is what their users need to know. */
const IDS =
  'Ids are 64-bit integers (`int64`), written as JSON numbers. Above 2^53 (9007199254740992), `JSON.parse` and ' +
  '`JSON.stringify` of JavaScript round them: a generated client needs a JSON serializer that writes `bigint` exactly, ' +
  'or has to stay at or below that number. Unknown fields of a body are ignored; a duplicate key is rejected.'

/** The methods whose repetition has no further effect (RFC 9110 section 9.2.2). */
const IDEMPOTENT: readonly string[] = ['GET', 'PUT', 'DELETE']

/** What a client has to know before it sends a request again whose response was lost. */
const NOT_REPEATABLE =
  'After a connection error, a timeout or a 5xx, the request may have been processed: check before you send it again.'
const REPEATABLE =
  'After a connection error, a timeout or a 5xx, send the request again: what was processed has no further effect.'

/** A path of text and `:name`, each a whole segment. */
const PATH = /^(\/(:\w+|[\w.~-]+)?)+$/

/** How a body may be rejected before it is parsed. */
const BODY_ERRORS = { 413: ErrorSchema, 415: ErrorSchema }

/** Requests with these errors are rejected before they are counted. */
const UNCOUNTED = [403, 408, 417, 431]

/**
 * Creates the OpenAPI 3.1 document of the service from the contract.
 *
 * @throws Error with the operation, the place and what to do, if the document or the SDK cannot express a part of it
 */
export function createOpenApiDocument({ serverUrl = '/', operations = contract }: OpenApiOptions = {}) {
  const routes = Object.entries(operations).map(([name, value]) => [name, asOperation(name, value)] as const)
  const components: Components = {}
  const paths = describePaths(routes, components)
  // Any path may respond with an `Error`, also one that no operation has.
  describe(ErrorSchema, 'response', 'Error', components)
  const names = routes.map(([name, { summary = name }]) => summary)
  const tags = routes.flatMap(([, { metadata }]) => metadata.tag ?? [])
  return {
    openapi: '3.1.1',
    info: {
      title: 'Plant Store',
      version: VERSION,
      description: `A small plant store: ${names.join(', ')}.\n\n${IDS}\n\n${errorTable()}`,
      contact: { name: 'Plant Store maintainers' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: serverUrl }],
    security: [{ bearer: [] }],
    tags: [...new Map(tags.map((tag) => [tag.name, tag])).values()],
    paths,
    components: {
      schemas: components,
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'The header `Authorization: Bearer <ACCESS_TOKEN>` (RFC 6750).',
        },
      },
    },
  }
}

function errorTable(): string {
  const rows = Object.values(errorCatalogue).map(
    ({ code, reason }) => `| ${code} | ${Math.floor(code / 100)} | ${reason} |`,
  )
  return ['| error | status | meaning |', '|---|---|---|', ...rows].join('\n')
}

/** Checks that a value is an operation of a contract that a server can serve, and the SDK call. */
function asOperation(name: string, value: unknown): Route {
  if (!(value instanceof Object && isAppRoute(value as AppRoute))) {
    return reject(name, 'is not an operation; move the operations of a nested router to the top level')
  }
  const route = value as Route
  const require = (isMet: boolean, part: string, reason: string) => isMet || reject(`${name}: ${part}`, reason)
  require(route.metadata !== undefined, 'metadata', 'is missing; add defineMetadata({ scope })')
  require(route.headers === undefined, 'headers', 'header parameters are not supported; use the query or the body')
  require(route.method !== 'GET' || bodyOf(route) === undefined, 'body', 'a GET request has no body; use the query')
  const { contentType = 'application/json' } = route as { readonly contentType?: string }
  require(contentType === 'application/json', 'body', `the content type ${contentType} is not supported; send JSON`)
  require(PATH.test(route.path), 'path', 'must consist of segments that are text or :name; use query parameters')
  const statuses = Object.keys(route.responses).map(Number)
  require(statuses.filter((status) => status < 300).length === 1, 'responses', 'must have one success status (2xx)')
  for (const status of statuses.filter((each) => each >= 300)) {
    require(status >= 400, `response ${status}`, 'the SDK follows no redirect; use 2xx, 4xx and 5xx')
    require(route.responses[status] === ErrorSchema, `response ${status}`, 'an error has the body ErrorSchema; use it')
  }
  checkIdempotent(route, statuses, `${name}: metadata.idempotent`)
  return route
}

/** Rejects an operation that the SDK would retry, although the first attempt may have changed what the retry responds. */
function checkIdempotent({ method, metadata }: Route, statuses: readonly number[], place: string): void {
  if (metadata.idempotent === undefined && !IDEMPOTENT.includes(method)) {
    const fix = 'set true if a repeated request changes nothing more and gets the same response, false if not'
    reject(place, `is missing, and a ${method} is not idempotent by itself (RFC 9110 section 9.2.2); ${fix}`)
  }
  const status = statuses.find((each) => each === 412 || (method === 'DELETE' && [404, 410].includes(each)))
  if (status === undefined || metadata.idempotent === false || method === 'GET') return
  const reason = `must be false, since a ${method} whose response was lost gets the ${status} when it is sent again`
  reject(place, `${reason}; or remove the ${status}, and respond to a repeated request as to the first`)
}

/** Returns the body that a request has; undefined if none. */
function bodyOf(route: AppRoute): unknown {
  const { body } = route as { readonly body?: unknown }
  return body === ContractNoBody ? undefined : body
}

/** Describes the operations of each path, by their method in lower case. */
function describePaths(routes: readonly (readonly [name: string, route: Route])[], components: Components) {
  const paths: Record<string, Record<string, Operation>> = {}
  for (const [index, [name, route]] of routes.entries()) {
    for (const [earlier, { method, path }] of routes.slice(0, index)) {
      if (!covers(path, route.path)) continue
      const isSame = covers(route.path, path) && path !== route.path
      if (isSame) reject(name, `${earlier} has this path as ${path}; use the same names of parameters`)
      if (method === route.method)
        reject(name, `its requests go to ${earlier} before it; change the path, or move it up`)
    }
    const operation = describeOperation(name, route, components)
    const template = route.path.replace(/:(\w+)/g, '{$1}')
    paths[template] = { ...paths[template], [route.method.toLowerCase()]: operation }
  }
  return paths
}

function covers(path: string, other: string): boolean {
  const [parts, others] = [path.split('/'), other.split('/')]
  return parts.length === others.length && parts.every((part, index) => part.startsWith(':') || part === others[index])
}

/** Describes an operation, and adds its components. */
function describeOperation(name: string, route: Route, components: Components) {
  const { scope, tag, paged = false, idempotent = true } = route.metadata
  const path = describeParameters('path', route, `${name}: pathParams`, components)
  const query = describeParameters('query', route, `${name}: query`, components)
  const parameters = [...path.parameters, ...query.parameters]
  const hasBody = bodyOf(route) !== undefined
  const body = hasBody ? describeBody(bodyOf(route), 'request', ['object'], `${name}: body`, components) : undefined
  // What the server responds before the operation, whatever that declares: an invalid parameter of a path names nothing.
  const before = { ...(route.pathParams !== undefined && { 404: ErrorSchema }), ...(hasBody && BODY_ERRORS) }
  const responses = Object.entries({ ...before, ...route.responses }).map(([status, own]) => {
    const place = `${name}: response ${status}`
    const described = Number(status) < 300 ? describeSuccess(Number(status), own, paged, place, components) : undefined
    return [status, described ?? describeError(Number(status), components)] as const
  })
  const isPage = ['limit', 'cursor'].every((each) => query.parameters.some((own) => own.name === each && !own.required))
  if (paged && !isPage) reject(`${name}: query`, 'has no optional limit and cursor; add them, or remove `paged`')
  const repetition = idempotent ? (IDEMPOTENT.includes(route.method) ? undefined : REPEATABLE) : NOT_REPEATABLE
  const description = [route.description, path.description, query.description, repetition].filter(Boolean).join('\n\n')
  return {
    operationId: name,
    ...(route.summary !== undefined && { summary: route.summary }),
    ...(description && { description }),
    ...(tag && { tags: [tag.name] }),
    ...(route.deprecated && { deprecated: true }),
    security: [{ bearer: [scope] }],
    'x-idempotent': idempotent,
    ...(paged && { 'x-paged': true }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: body } }),
    responses: Object.fromEntries(responses),
  }
}

function describeParameters(kind: 'path' | 'query', route: AppRoute, place: string, components: Components) {
  const schema = kind === 'path' ? route.pathParams : route.query
  const inPath = kind === 'path' ? (route.path.match(/(?<=:)\w+/g) ?? []) : []
  if (schema === undefined && inPath.length === 0) return { parameters: [] }
  if (!(schema instanceof z.ZodObject)) return reject(place, 'must be a z.object() with a field per parameter')
  const { properties = {}, required = [], description } = describe(schema, 'parameter', place, components)
  const names = [Object.keys(properties), required].map((each) => each.toSorted().join())
  if (kind === 'path' && names.some((each) => each !== inPath.toSorted().join())) {
    reject(place, `must have the parameters of ${route.path}, all required, and no others`)
  }
  const parameters = Object.entries(properties).map(([name, schema]) => ({
    in: kind,
    name,
    ...(required.includes(name) && { required: true }),
    ...(schema.deprecated && { deprecated: true }),
    ...(schema.description !== undefined && { description: schema.description }),
    schema,
  }))
  return { parameters, description }
}

/** Describes a JSON body, which must be of one of these types: an object or a list may grow. */
function describeBody(
  value: unknown,
  direction: 'request' | 'response',
  types: readonly string[],
  place: string,
  components: Components,
) {
  const schema = describe(value, direction, place, components)
  const { type = '' } = components[schema.$ref?.split('/').at(-1) ?? ''] ?? schema
  if (!types.includes(type)) reject(place, `must be an ${types.join(' or an ')}; change its schema`)
  return { 'application/json': { schema } }
}

function describeSuccess(status: number, body: unknown, paged: boolean, place: string, components: Components) {
  // These statuses never have a body (RFC 9110 sections 15.3.5 and 15.3.6).
  if ([204, 205].includes(status) && body !== ContractNoBody) reject(place, 'has no body; use c.noBody()')
  const types = paged ? ['array'] : ['object', 'array']
  return {
    description: 'Success.',
    ...(body !== ContractNoBody && { content: describeBody(body, 'response', types, place, components) }),
    headers: responseHeaders(status, paged),
  }
}

/** Describes the errors of a status, which are the same for all operations. */
function describeError(status: number, components: Components) {
  const errors = Object.entries(errorCatalogue).filter(([name]) => statusOf(name as ErrorName) === status)
  const examples = errors.map(([name, { code, reason }]) => {
    return [name, { summary: String(code), value: { error: code, message: reason } }]
  })
  const schema = describe(ErrorSchema, 'response', `${status}`, components)
  return {
    description: errors.map(([, { code, reason }]) => `${code}: ${reason}`).join('\n\n') || 'Error.',
    content: { 'application/json': { schema, ...(errors.length > 0 && { examples: Object.fromEntries(examples) }) } },
    headers: responseHeaders(status, false),
  }
}

/** Lists the headers of a response that clients can use. */
function responseHeaders(status: number, paged: boolean): Record<string, ReturnType<typeof header>> {
  const challenge = (parameters: string) => ({
    'WWW-Authenticate': header(`\`Bearer\`, ${parameters} (RFC 6750).`, 'Bearer realm="plant-store"', true),
  })
  const limit = 'If requests are limited: the limit and its window in seconds (draft-ietf-httpapi-ratelimit-headers).'
  const left = 'If requests are limited: how many are left, and in how many seconds the window ends.'
  const next = 'The next page, `rel="next"` (RFC 8288), if there is one.'
  return {
    'X-Request-Id': header('Identifies this request in the server logs.', '0b7e5a2c-6d1f-4c39-9a48-53d2f0c1e7ab', true),
    ...(status < 300 && paged && { Link: header(next, '<?limit=100&cursor=AAECAwQFBgc>; rel="next"') }),
    ...(status === 401 && challenge('with `error="invalid_token"` if a token was sent')),
    ...(status === 403 && challenge('with `error="insufficient_scope"` and the `scope`')),
    ...((status === 429 || status === 503) && { 'Retry-After': header('Seconds to wait before a retry.', 1, true) }),
    ...(!UNCOUNTED.includes(status) && {
      'RateLimit-Policy': header(limit, '"rate-limit";q=100;w=60'),
      RateLimit: header(left, '"rate-limit";r=99;t=60'),
    }),
  }
}

function header(description: string, example: string | number, required = false) {
  const type = typeof example === 'number' ? ({ type: 'integer', minimum: 0 } as const) : ({ type: 'string' } as const)
  return { description, ...(required && { required }), schema: { ...type, examples: [example] } }
}
