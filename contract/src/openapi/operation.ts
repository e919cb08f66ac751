/** Describes operations and their requests: parameters and body. */
import { type AppRoute, ContractNoBody, isAppRoute } from '@ts-rest/core'
import * as z from 'zod'
import { type OperationMetadata, OperationMetadataSchema } from '../contract.ts'
import { type Content, describeBody, describeResponses, type Responses } from './responses.ts'
import {
  at,
  type Components,
  describe,
  isOptional,
  type JsonSchema,
  type Place,
  reject,
  requireFieldName,
  requireSchema,
  resolve,
} from './schema.ts'

/** A parameter of an operation. */
export interface Parameter {
  readonly in: 'path' | 'query' | 'header'
  readonly name: string
  readonly required?: boolean
  readonly deprecated?: boolean
  readonly description?: string
  readonly schema: JsonSchema
}

/** An operation of the OpenAPI document. */
export interface Operation {
  readonly operationId: string
  readonly summary?: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly deprecated?: boolean
  readonly security: readonly { readonly bearer: readonly string[] }[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly required: boolean; readonly content: Content }
  readonly responses: Responses
}

/** An operation of a contract. */
export type Route = AppRoute & { readonly metadata: OperationMetadata }

/** The methods that ts-rest serves, written as it compares them. */
const METHODS: readonly string[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] satisfies AppRoute['method'][]

/** Headers that the SDK or `fetch` sets, or that the application may not set; OpenAPI ignores some of them. */
const RESERVED_HEADERS =
  /^(?:accept|accept-(?:charset|encoding)|authorization|connection|content-(?:encoding|length|type)|cookie2?|date|dnt|expect|host|keep-alive|origin|referer|set-cookie|te|trailer|transfer-encoding|upgrade|user-agent|via|x-request-id|(?:access-control|proxy|sec)-.*)$/

/** A token of RFC 9110 section 5.6.2, in lower case. */
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/

/** A path of text and `:name`, each a whole segment. */
const PATH = /^(\/(:?[\w.~-]+)?)+$/

/**
 * Returns an operation of a contract.
 *
 * @throws Error if it is a nested router, its metadata is invalid, or no server would serve it
 */
export function asOperation(name: string, value: unknown): Route {
  if (!(value instanceof Object && isAppRoute(value as AppRoute))) {
    return reject({ name }, 'is not an operation; move the operations of a nested router to the top level')
  }
  const { method, metadata } = value as AppRoute
  if (!METHODS.includes(method)) reject({ name }, `the method ${method} is not supported; use ${METHODS.join(', ')}`)
  const [issue] = OperationMetadataSchema.safeParse(metadata).error?.issues ?? []
  if (issue) reject({ name: `${name}: ${['metadata', ...issue.path].join('.')}` }, issue.message)
  return value as Route
}

/**
 * Describes an operation for the OpenAPI document, and adds its components.
 *
 * @throws Error with the place and the fix, if the document or the SDK cannot express a part of it
 */
export function describeOperation(name: string, route: Route, components: Components): Operation {
  const { scope, tag, paged = false } = route.metadata
  const place: Place = { name: `${name}: `, direction: 'request', components }
  const parameters = describeParameters(route, { ...place, direction: 'parameter' })
  const body = describeRequest(route, at(place, 'body'))
  const responses = describeResponses(route.responses, paged, { ...place, direction: 'response' })
  if (paged) checkPaged(parameters, responses, { ...place, name })
  return {
    operationId: name,
    ...(route.summary !== undefined && { summary: route.summary }),
    ...(route.description !== undefined && { description: route.description }),
    ...(tag && { tags: [tag.name] }),
    ...(route.deprecated && { deprecated: true }),
    security: [{ bearer: [scope] }],
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: body } }),
    responses,
  }
}

function describeRequest(route: AppRoute, place: Place): Content | undefined {
  const { body, contentType = 'application/json' } = route as { body?: unknown; contentType?: string }
  if (body === undefined || body === ContractNoBody) return undefined
  if (route.method === 'GET') reject(place, 'a GET request has no body; use `query`')
  if (contentType !== 'application/json') {
    reject(place, `has the content type ${contentType}; only JSON is supported, so remove contentType`)
  }
  return describeBody(body, place)
}

function describeParameters(route: AppRoute, place: Place): Parameter[] {
  const path = describeFields('path', route.pathParams, at(place, 'pathParams'))
  const query = describeFields('query', route.query, at(place, 'query'))
  const headers = describeFields('header', asObject(route.headers, at(place, 'headers')), at(place, 'headers'))
  checkPath(route.path, path, place)
  for (const header of headers) checkHeader(header, at(place, `headers.${header.name}`))
  return [...path, ...query, ...headers]
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

function describeFields(kind: Parameter['in'], value: unknown, place: Place): Parameter[] {
  if (value === undefined) return []
  if (!(value instanceof z.ZodObject)) return reject(place, 'must be a z.object() with a field per parameter')
  const { catchall } = value.def
  if (catchall && catchall._zod.def.type !== 'never') {
    reject(place, 'takes parameters of any name; name each in a z.object()')
  }
  return Object.entries(value.shape).map(([name, field]) => describeParameter(kind, name, field, at(place, `.${name}`)))
}

function describeParameter(kind: Parameter['in'], name: string, value: unknown, place: Place): Parameter {
  const field = requireSchema(value, place)
  requireFieldName(name, place)
  const schema = describe(field, place)
  requireSafe(kind, field, place)
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

/** Parses texts as a server does, which responds with a 500 if the schema throws, or if a database rejects what it accepts. */
function requireSafe(kind: Parameter['in'], parameter: z.ZodType, place: Place): void {
  const accepts = (text: string): boolean => {
    try {
      return z.safeParse(parameter, text).success
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      const fix = 'check the text first, for example with z.url() or .regex(), and what is asynchronous in the handler'
      return reject(place, `throws on the text "a" (${message}), which is a 500; ${fix}`)
    }
  }
  // HTTP has none of these in a header.
  const isStored = ['a', '\0', '\ud800'].map(accepts).slice(1)
  if (kind !== 'header' && isStored.includes(true)) {
    reject(place, 'accepts U+0000 or lone surrogates, which not every database does; use TextSchema, or a format')
  }
}

function checkHeader({ name, schema }: Parameter, place: Place): void {
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

/** Checks that an operation has what the pages of the SDK are made of. */
function checkPaged(parameters: readonly Parameter[], responses: Responses, place: Place): void {
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
