/** Creates the OpenAPI document: of each operation the parameters, the body and the responses. */
import { type AppRoute, ContractNoBody, isAppRoute } from '@ts-rest/core'
import * as z from 'zod'
import { contract, type OperationMetadata, OperationMetadataSchema } from './contract.ts'
import { type ErrorName, ErrorSchema, errorCatalogue, statusOf } from './errors.ts'
import {
  at,
  type Components,
  describe,
  isOptional,
  type JsonSchema,
  type Place,
  parse,
  reject,
  requireFieldName,
  requireJson,
  requirePresent,
  requireSchema,
  resolve,
} from './json-schema.ts'

export type { JsonSchema, Literal } from './json-schema.ts'

/** A body, by its media type. */
export type Content = ReturnType<typeof describeBody>

/** A parameter of an operation. */
export type Parameter = ReturnType<typeof describeParameter>

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

/** Where a parameter is. */
type ParameterPlace = 'path' | 'query' | 'header'

/** An operation of a contract. */
type Route = AppRoute & { readonly metadata: OperationMetadata }

/** The version of this package: that of `package.json`. `npm run release` sets it, and a test compares them. */
const VERSION = '1.0.0'

/** Most generated clients are not exact here: this is what their users need to know. */
const IDS =
  'Ids are 64-bit integers (`int64`), written as JSON numbers. Above 2^53 (9007199254740992), `JSON.parse` and ' +
  '`JSON.stringify` of JavaScript round them: a generated client needs a JSON serializer that writes `bigint` exactly, ' +
  'or has to stay at or below that number.'

/** The methods that ts-rest serves, written as it compares them. */
const METHODS: readonly string[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] satisfies AppRoute['method'][]

/** The methods whose repetition has no further effect (RFC 9110 section 9.2.2). */
const IDEMPOTENT: readonly string[] = ['GET', 'PUT', 'DELETE']

/** What a client has to know of an operation that is not idempotent. */
const NOT_IDEMPOTENT =
  'After a connection error, a timeout or a 5xx, the request may have been processed: check before you send it again.'

/** Headers that the SDK or `fetch` sets, or that the application may not set; OpenAPI ignores some of them. */
const RESERVED_HEADERS =
  /^(?:accept|accept-(?:charset|encoding)|authorization|connection|content-(?:encoding|length|type)|cookie2?|date|dnt|expect|host|keep-alive|origin|referer|set-cookie|te|trailer|transfer-encoding|upgrade|user-agent|via|x-request-id|(?:access-control|proxy|sec)-.*)$/

/** A token of RFC 9110 section 5.6.2, in lower case. */
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/

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
  const components: Components = new Map()
  const paths = describePaths(routes, components)
  // Any path may respond with an `Error`, also one that no operation has.
  describe(ErrorSchema, { name: 'Error', direction: 'response', components })
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
      schemas: Object.fromEntries([...components].map(([name, { json }]): [string, JsonSchema] => [name, json])),
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

/** Checks that a value is an operation of a contract that a server can serve. */
function asOperation(name: string, value: unknown): Route {
  if (!(value instanceof Object && isAppRoute(value as AppRoute))) {
    return reject({ name }, 'is not an operation; move the operations of a nested router to the top level')
  }
  const { method, metadata } = value as AppRoute
  if (!METHODS.includes(method)) reject({ name }, `the method ${method} is not supported; use ${METHODS.join(', ')}`)
  const [issue] = OperationMetadataSchema.safeParse(metadata).error?.issues ?? []
  if (issue) reject({ name: `${name}: ${['metadata', ...issue.path].join('.')}` }, issue.message)
  checkIdempotent(value as Route, { name: `${name}: metadata.idempotent` })
  return value as Route
}

/** Rejects an operation that the SDK would retry, although the first attempt may have changed what the retry responds. */
function checkIdempotent({ method, metadata: { idempotent }, responses }: Route, place: { name: string }): void {
  if (idempotent === undefined && !IDEMPOTENT.includes(method)) {
    const fix = 'set true if a repeated request changes nothing more and gets the same response, false if not'
    reject(place, `is missing, and a ${method} is not idempotent by itself (RFC 9110 section 9.2.2); ${fix}`)
  }
  const changed = method === 'DELETE' ? [404, 410, 412] : [412]
  const status = changed.find((each) => each in responses && method !== 'GET')
  if (status === undefined || idempotent === false) return
  const reason = `must be false, since a ${method} whose response was lost gets the ${status} when it is sent again`
  reject(place, `${reason}; or remove the ${status}, and respond to a repeated request as to the first`)
}

/** Describes the operations of each path, by their method in lower case. */
function describePaths(routes: readonly (readonly [name: string, route: Route])[], components: Components) {
  const paths: Record<string, Record<string, Operation>> = {}
  for (const [index, [name, route]] of routes.entries()) {
    for (const [earlier, other] of routes.slice(0, index)) requireReachable(name, route, earlier, other)
    const operation = describeOperation(name, route, components)
    const template = templateOf(route.path)
    paths[template] = { ...paths[template], [route.method.toLowerCase()]: operation }
  }
  return paths
}

/** Rejects an operation whose requests a router sends to an earlier one, or whose path is that of another in other words. */
function requireReachable(name: string, { method, path }: Route, earlier: string, other: Route): void {
  if (!covers(other.path, path)) return
  if (path !== other.path && covers(path, other.path)) {
    reject({ name }, `another operation has this path as ${templateOf(other.path)}; use the same names of parameters`)
  }
  if (method !== other.method) return
  const reason = `${earlier} before it takes its requests: ${method} ${other.path} also matches ${path}`
  reject({ name }, `${reason}; change the path, or move ${name} before ${earlier}`)
}

function covers(path: string, other: string): boolean {
  const [parts, others] = [path.split('/'), other.split('/')]
  return parts.length === others.length && parts.every((part, index) => part.startsWith(':') || part === others[index])
}

function templateOf(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}')
}

/** Describes an operation, and adds its components. */
function describeOperation(name: string, route: Route, components: Components) {
  const { scope, tag, paged = false, idempotent = true } = route.metadata
  const description = [route.description ?? [], idempotent ? [] : NOT_IDEMPOTENT].flat().join('\n\n')
  const place: Place = { name: `${name}: `, direction: 'request', components }
  const parameters = describeParameters(route, { ...place, direction: 'parameter' })
  const body = describeRequest(route, at(place, 'body'))
  // What the server responds before the operation, whatever that declares: an invalid parameter of a path names nothing.
  const before = { ...(route.pathParams !== undefined && { 404: ErrorSchema }), ...(body && BODY_ERRORS) }
  const declared = { ...before, ...route.responses }
  const responses = describeResponses(declared, paged, { ...place, direction: 'response' })
  if (paged) checkPaged(parameters, responses, { ...place, name })
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
    responses,
  }
}

function describeParameters(route: AppRoute, place: Place): Parameter[] {
  const path = describeFields('path', route.pathParams, at(place, 'pathParams'))
  checkPath(route.path, path, place)
  const query = describeFields('query', route.query, at(place, 'query'))
  const headers = at(place, 'headers')
  return [...path, ...query, ...describeFields('header', asObject(route.headers, headers), headers)]
}

/** Turns the headers of ts-rest, a record of schemas or an object schema, into an object schema. */
function asObject(headers: unknown, place: Place): unknown {
  if (typeof headers !== 'object' || headers === null || '_zod' in headers) return headers
  // Two object schemas that ts-rest has spread into one object.
  if ('def' in headers && headers.def instanceof Object && 'shape' in headers.def) {
    reject(place, 'ts-rest cannot merge the z.object() of a router and an operation; use records of schemas')
  }
  // ts-rest removes a header of the router from one operation by `null`.
  return z.object(Object.fromEntries(Object.entries(headers).filter(([, schema]) => schema !== null)))
}

function describeFields(kind: ParameterPlace, value: unknown, place: Place): Parameter[] {
  if (value === undefined) return []
  if (!(value instanceof z.ZodObject)) return reject(place, 'must be a z.object() with a field per parameter')
  const { catchall } = value.def
  if (catchall && catchall._zod.def.type !== 'never') {
    reject(place, 'takes parameters of any name; name each in a z.object()')
  }
  return Object.entries(value.shape).map(([name, field]) => describeParameter(kind, name, field, at(place, `.${name}`)))
}

function describeParameter(kind: ParameterPlace, name: string, value: unknown, place: Place) {
  const field = requireSchema(value, place)
  requireFieldName(name, place)
  const schema = describe(field, place)
  requireSafe(kind, field, place)
  if (kind === 'header') checkHeader(name, schema, place)
  const { deprecated, description } = schema
  return {
    in: kind,
    name,
    ...(!isOptional(field) && { required: true }),
    ...(deprecated && { deprecated }),
    ...(description !== undefined && { description }),
    schema,
  }
}

/** Rejects a parameter that throws, or accepts what a database rejects. */
function requireSafe(kind: ParameterPlace, parameter: z.ZodType, place: Place): void {
  const [, ...unsafe] = ['a', '\0', '\ud800'].map((text) => parse(parameter, text, place).success)
  // HTTP has none of these in a header.
  if (kind !== 'header' && unsafe.includes(true)) {
    reject(place, 'accepts U+0000 or lone surrogates, which not every database does; use TextSchema, or a format')
  }
}

function checkHeader(name: string, schema: JsonSchema, place: Place): void {
  // ts-rest looks for the name as it is written, among the names of Node.js.
  if (name !== name.toLowerCase()) reject(place, 'has upper case letters; write it in lower case')
  if (!HEADER_NAME.test(name)) reject(place, 'is not the name of a header; use letters, digits and hyphens')
  if (RESERVED_HEADERS.test(name)) reject(place, 'is set by the client itself; remove it')
  // `fetch` must send each value of an enum, and the server receive it unchanged.
  for (const value of [schema.const ?? [], schema.enum ?? []].flat().map(String)) {
    if (/^[ -~]*$/.test(value) && value === value.trim()) continue
    reject(place, `a header cannot have the value "${value}"; use ASCII without spaces at the ends`)
  }
}

function checkPath(path: string, parameters: readonly Parameter[], place: Place): void {
  const own = at(place, 'path')
  if (!PATH.test(path)) reject(own, `${path} must consist of segments that are text or :name; use query parameters`)
  const names: string[] = path.match(/(?<=:)\w+/g) ?? []
  const missing = names.find((segment) => !parameters.some(({ name }) => name === segment))
  if (missing !== undefined) reject(own, `:${missing} has no schema; add it to pathParams`)
  for (const { name, required } of parameters) {
    const parameter = at(place, `pathParams.${name}`)
    if (!names.includes(name)) reject(parameter, `is not in the path ${path}; add :${name} to it`)
    if (!required) reject(parameter, 'is optional; make it required, or add an operation')
  }
}

function describeRequest(route: AppRoute, place: Place): Content | undefined {
  const { body, contentType = 'application/json' } = route as { body?: unknown; contentType?: string }
  if (body === undefined || body === ContractNoBody) return undefined
  if (route.method === 'GET') reject(place, 'a GET request has no body; use `query`')
  requireJson(contentType, place)
  return describeBody(body, place)
}

/** Describes a JSON body. */
function describeBody(value: unknown, place: Place, examples?: Readonly<Record<string, object>>) {
  const schema = requireSchema(value, place)
  requirePresent(schema, place, 'make it required, or use c.noBody()')
  return { 'application/json': { schema: describe(schema, place), ...(examples && { examples }) } }
}

function describeResponses(declared: AppRoute['responses'], paged: boolean, place: Place) {
  const responses = Object.entries(declared).map(([status, body]) => {
    return [status, describeResponse(Number(status), body, paged, at(place, `response ${status}`))] as const
  })
  if (responses.some(([status]) => status.startsWith('2'))) return Object.fromEntries(responses)
  return reject(at(place, 'responses'), 'must have a success status (2xx); add one')
}

function describeResponse(status: number, body: unknown, paged: boolean, place: Place) {
  if (!/^[245]\d\d$/.test(`${status}`)) reject(place, 'the SDK follows no redirect; use a status of 2xx, 4xx and 5xx')
  const errors = Object.entries(errorCatalogue).filter(([name]) => statusOf(name as ErrorName) === status)
  const examples = errors.map(([name, { code, reason }]) => {
    return [name, { summary: String(code), value: { error: code, message: reason } }]
  })
  const descriptions = errors.map(([, { code, reason }]) => `${code}: ${reason}`)
  if (status >= 400 && body !== ErrorSchema) {
    reject(place, 'an error must have the body ErrorSchema; add what the client needs to its message and code')
  }
  // These statuses never have a body (RFC 9110 sections 15.3.5 and 15.3.6).
  if ([204, 205].includes(status) && body !== ContractNoBody) reject(place, 'has no body; use c.noBody()')
  return {
    description: descriptions.join('\n\n') || (status < 400 ? 'Success.' : 'Error.'),
    ...(body !== ContractNoBody && {
      content: describeBody(body, place, examples.length > 0 ? Object.fromEntries(examples) : undefined),
    }),
    headers: responseHeaders(status, paged),
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

/** Checks that an operation has what the pages of the SDK are made of. */
function checkPaged(parameters: readonly Parameter[], responses: Operation['responses'], place: Place): void {
  const [success, other] = Object.entries(responses).filter(([status]) => status.startsWith('2'))
  const content = success?.[1].content
  if (other || !content || resolve(content['application/json'].schema, place.components).type !== 'array') {
    reject(place, 'only a list can be paged; return a list, or remove `paged`')
  }
  for (const name of ['limit', 'cursor']) {
    if (parameters.some((each) => each.in === 'query' && each.name === name && !each.required)) continue
    reject(at(place, ': query'), `a paged operation has an optional \`${name}\`; add it, or remove \`paged\``)
  }
}
