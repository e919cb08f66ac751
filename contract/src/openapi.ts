/** Creates the OpenAPI document: of each operation the parameters, the body and the responses. */
import { type AppRoute, ContractNoBody, isAppRoute } from '@ts-rest/core'
import type * as z from 'zod'
import { writeSamples } from './code-samples.ts'
import { contract, type ErrorName, ErrorSchema, errorCatalogue, type OperationMetadata, statusOf } from './contract.ts'
import { commonErrors } from './errors.ts'
import { type Components, describe, type JsonSchema, rejectContract } from './json-schema.ts'

export { type Components, type JsonSchema, rejectContract } from './json-schema.ts'

/** What {@link createOpenApiDocument} returns, an OpenAPI 3.1 document. What is undefined is not served. */
export type OpenApiDocument = ReturnType<typeof createOpenApiDocument>

/** An operation of the document. */
export type Operation = ReturnType<typeof describeOperation>

/** An operation of a contract. */
type Route = AppRoute & { readonly name: string; readonly metadata: OperationMetadata }

/**
 * The version of this package: that of `package.json`. `npm run changeset -- version` sets it,
 * and a test compares them.
 */
const VERSION = '1.0.0'

/** Most generated clients are not exact here: this is what their users need to know. */
const IDS =
  'Ids are 64-bit integers (`int64`), written as JSON numbers. Above 2^53 (9007199254740992), `JSON.parse` and ' +
  '`JSON.stringify` of JavaScript round them: a generated client needs JSON that reads and writes integers exactly, as `bigint`, ' +
  'or has to stay at or below that number. Unknown fields of a body are ignored; a duplicate key is rejected.'

const LINK =
  'Of a page (RFC 8288): the next one, `rel="next"`, if there is one, and what follows it, now or later, `rel="end"`.'

const ERRORS_BY_CODE = Object.entries(errorCatalogue).sort(([, a], [, b]) => a.code - b.code)
const ERROR_NAMES = ERRORS_BY_CODE.map(([name]) => name as ErrorName)

/** The error catalogue as a table in Markdown. */
const ERRORS = [
  '| error | status | meaning |\n|---|---|---|',
  ...ERROR_NAMES.map((name) => `| ${errorCatalogue[name].code} | ${statusOf(name)} | ${errorCatalogue[name].reason} |`),
].join('\n')

/** The methods whose repetition has no further effect (RFC 9110 section 9.2.2). */
const IDEMPOTENT: readonly string[] = ['GET', 'PUT', 'DELETE']

/** What a client has to know before it sends a request again whose response was lost. */
const NOT_REPEATABLE =
  'After a connection error, a timeout or a 5xx, the request may have been processed: check before you send it again.'
const REPEATABLE =
  'After a connection error, a timeout or a 5xx, send the request again: what was processed has no further effect.'

const FAILURES = 'a failure is a 4xx or 5xx with ErrorSchema, or the 304 of a GET with c.noBody()'
/** What an operation can have, of all that ts-rest knows. */
const KEYS = 'method path summary description pathParams query body responses metadata strictStatusCodes'.split(' ')

/** A path of text and `:name`, each a whole segment. */
const PATH = /^(\/(:\w+|[\w.~-]+)?)+$/

/** How a body may be rejected before it is parsed. */
const BODY_ERRORS = { 413: ErrorSchema, 415: ErrorSchema }

/**
 * Creates the OpenAPI 3.1 document of the service.
 *
 * @param operations the operations to describe. Default: those of the plant store.
 * @throws {Error} with the operation, the place and what to do, if the document or the SDK cannot express a part of it
 */
export function createOpenApiDocument(operations: Record<string, unknown> = contract) {
  const routes = Object.entries(operations).map(([name, value]) => asOperation(name, value))
  const components: Components = {}
  const paths = describePaths(routes, components)
  // Any path may respond with an `Error`, also one that no operation has.
  describe(components, ErrorSchema, 'response', 'Error')
  const groups = routes.flatMap(({ metadata }) => metadata.group ?? [])
  return {
    openapi: '3.1.1',
    info: {
      title: 'Plant Store',
      version: VERSION,
      description: `A small plant store.\n\n${IDS}\n\n${ERRORS}`,
      contact: { name: 'Plant Store maintainers' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    // The origin that served the document.
    servers: [{ url: '/' }],
    security: [{ bearer: [] }],
    tags: [...new Map(groups.map((group) => [group.name, group])).values()],
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

/** Checks that a value is an operation that a server can serve, the SDK call, and a client retry as it says. */
function asOperation(name: string, value: unknown): Route {
  if (!(value instanceof Object && isAppRoute(value as AppRoute)))
    return rejectContract(name, 'is not an operation; move the operations of a nested router to the top level')
  const route = { ...value, name } as Route
  const { method, path, responses, metadata } = route
  const { idempotent, errors = [] } = metadata ?? {}
  const [unknown] = Object.entries(value).find(([key, own]) => own !== undefined && !KEYS.includes(key)) ?? []
  const statuses = Object.keys(responses).map(Number)
  const failures = statuses.filter((status) => status >= 300 && !(status === 304 && method === 'GET'))
  const hasIdempotent = idempotent !== undefined || IDEMPOTENT.includes(method)
  const isGone = method === 'DELETE' && idempotent !== false && 404 in responses
  const rules: [isMet: boolean, reason: string][] = [
    [unknown === undefined, `${unknown}: is not supported; an operation has ${KEYS.join(', ')}`],
    [metadata !== undefined, 'metadata: is missing; add defineMetadata({ scope })'],
    [method !== 'GET' || bodyOf(route) === undefined, 'body: a GET request has no body; use the query'],
    [PATH.test(path), 'path: must consist of segments that are text or :name; use query parameters'],
    [statuses.filter((status) => status < 300).length === 1, 'responses: must have one success status (2xx)'],
    [failures.every((each) => each >= 400 && responses[each] === ErrorSchema), `responses: ${FAILURES}`],
    [errors.every((error) => statusOf(error) in responses), `metadata.errors: add the responses of ${errors}`],
    [hasIdempotent, `metadata.idempotent: is missing, and a ${method} is not idempotent by itself (RFC 9110 9.2.2)`],
    [!isGone, 'metadata.idempotent: must be false, since a repeated DELETE may get the 404'],
  ]
  for (const [isMet, reason] of rules) if (!isMet) rejectContract(name, reason)
  return route
}

/** Returns the body that a request has; undefined if none. */
function bodyOf(route: AppRoute): object | undefined {
  const { body } = route as { readonly body?: object | typeof ContractNoBody }
  return body === ContractNoBody ? undefined : body
}

/** Describes the operations of each path, by their method in lower case. */
function describePaths(routes: readonly Route[], components: Components) {
  const paths: Record<string, Record<string, Operation>> = {}
  for (const route of routes) {
    const template = route.path.replace(/:(\w+)/g, '{$1}')
    const operation = describeOperation(route, template, components)
    const method = route.method.toLowerCase()
    if (paths[template]?.[method])
      rejectContract(route.name, 'has the method and path of another operation; change one')
    paths[template] = { ...paths[template], [method]: operation }
  }
  return paths
}

/** Whether a route responds with an error. */
function isSent(error: ErrorName, route: Route): boolean {
  if (error === 'invalidQuery') return route.query !== undefined
  if (error === 'malformedJson' || error === 'invalidBody') return bodyOf(route) !== undefined
  return error in commonErrors || (route.metadata.errors ?? []).includes(error)
}

/** Describes an operation, and adds its components. */
function describeOperation(route: Route, template: string, components: Components) {
  const { name } = route
  const { scope, group, paged = false, idempotent = true } = route.metadata
  const inPath = describeParameters('path', route, components)
  const inQuery = describeParameters('query', route, components)
  const [ofPath, ofQuery] = [route.pathParams, route.query].map((each) => (each as z.ZodType | undefined)?.description)
  const body = bodyOf(route)
  const schema = body && describe(components, body, 'request', `${name}: body`)
  const { properties = {} } = components[String(schema?.$ref?.split('/').at(-1))] ?? schema ?? {}
  const inBody = Object.entries(properties).map(([field, schema]) => ({ in: 'body' as const, name: field, schema }))
  const parameters = [...inPath, ...inQuery]
  // What the server responds before the operation, whatever that declares: an invalid
  // parameter of a path names nothing.
  const before = { ...(route.pathParams !== undefined && { 404: ErrorSchema }), ...(body && BODY_ERRORS) }
  const hasVersion = 304 in route.responses
  const errors = ERROR_NAMES.filter((error) => isSent(error, route))
  const responses = Object.entries({ ...before, ...route.responses }).map(([key, body]: [string, unknown]) => {
    const status = Number(key)
    const part = paged && status < 300 ? 'page' : 'response'
    const place = `${name}: response ${status}`
    // Statuses without a body (RFC 9110 sections 15.3.5 and 15.4.5).
    const isEmpty = [204, 304].includes(status)
    if (isEmpty !== (body === ContractNoBody))
      rejectContract(place, isEmpty ? 'must be c.noBody()' : 'must have a body; c.noBody() is a 204')
    const schema = isEmpty ? undefined : describe(components, body, part, place)
    const own = errors.filter((error) => statusOf(error) === status)
    const headers = responseHeaders(status, paged && status < 400, hasVersion && status < 400)
    return [key, { ...describeResponse(status, schema, own), headers }] as const
  })
  const repetition = idempotent ? (IDEMPOTENT.includes(route.method) ? undefined : REPEATABLE) : NOT_REPEATABLE
  return {
    operationId: name,
    summary: route.summary,
    description: [route.description, ofPath, ofQuery, repetition].filter(Boolean).join('\n\n'),
    tags: group && [group.name],
    // The scope that the token must have.
    security: [{ bearer: [scope] }] as const,
    // Whether a client may send it again after a failure in which it may have been processed.
    'x-idempotent': idempotent,
    // Whether it has `limit` and `cursor`, and its responses links to the next page and to their end.
    'x-paged': paged,
    // For Redoc, the page /docs and other tools.
    'x-codeSamples': writeSamples(name, route.method, template, [...parameters, ...inBody]),
    parameters,
    requestBody: schema && { required: true, content: { 'application/json': { schema } } },
    responses: Object.fromEntries(responses),
  }
}

/** Describes the parameters of a path or a query. */
function describeParameters(kind: 'path' | 'query', route: Route, components: Components) {
  const place = `${route.name}: ${kind === 'path' ? 'pathParams' : 'query'}`
  const schema = kind === 'path' ? route.pathParams : route.query
  const inPath = kind === 'path' ? (route.path.match(/(?<=:)\w+/g) ?? []).toSorted() : []
  if (schema === undefined && inPath.length === 0) return []
  const { properties = {}, required = [] } = describe(components, schema, 'parameters', place)
  const isOfPath = [Object.keys(properties), required].every((each) => each.toSorted().join() === inPath.join())
  if (kind === 'path' && !isOfPath) rejectContract(place, `must have the parameters of ${route.path}, all required`)
  return Object.entries(properties).map(([name, schema]) => {
    const { description } = schema
    return { in: kind, name, required: required.includes(name) || undefined, description, schema }
  })
}

/** Describes a response of success, or of errors that have its status. */
function describeResponse(status: number, schema: JsonSchema | undefined, names: readonly ErrorName[]) {
  const errors = names.map((name) => ({ name, ...errorCatalogue[name] }))
  const entries = errors.map(({ name, code, reason }) => [name, { value: { error: code, message: reason } }] as const)
  // The example of the schema has the code of another status.
  const examples = errors.length > 0 && { examples: Object.fromEntries(entries) }
  const reasons = errors.map(({ code, reason }) => `${code}: ${reason}`).join('\n\n')
  const content = schema && { 'application/json': { schema, ...examples } }
  const success = status === 304 ? 'What the client has is still the same.' : 'Success.'
  return { description: reasons || (status < 400 ? success : 'Error.'), content }
}

/** Lists the headers of a response that clients can use. */
function responseHeaders(status: number, isPaged: boolean, hasVersion: boolean) {
  const challenge = '`Bearer`, with the `error` if a token was sent, and the `scope` that it lacks (RFC 6750).'
  return {
    'X-Request-Id': header('Identifies this request in the server logs.', true),
    ...(hasVersion && { ETag: header('The version of the response, for `If-None-Match` (RFC 9110 section 13.1.2).') }),
    ...(isPaged && { Link: header(LINK) }),
    ...([401, 403].includes(status) && { 'WWW-Authenticate': header(challenge, true) }),
    ...([429, 503].includes(status) && { 'Retry-After': header('Seconds to wait before a retry.', true) }),
    'RateLimit-Policy': header('The limit and its window in seconds, if requests are limited.'),
    RateLimit: header(
      'The requests left and the seconds until the window ends (draft-ietf-httpapi-ratelimit-headers).',
    ),
  }
}

function header(description: string, required = false): object {
  return { description, required, schema: { type: 'string' } }
}
