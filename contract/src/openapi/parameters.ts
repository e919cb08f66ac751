import type { AppRoute } from '@ts-rest/core'
import * as z from 'zod'
import { at, describe, isOptional, type JsonSchema, type Place, reject, requireFieldName } from './schema.ts'

/** A parameter of an operation. */
export interface Parameter {
  readonly in: 'path' | 'query' | 'header'
  readonly name: string
  readonly required?: true
  readonly deprecated?: boolean
  readonly description?: string
  readonly schema: JsonSchema
}

/** Headers that the SDK or `fetch` sets, or that the application may not set; OpenAPI ignores some of them. */
const RESERVED_HEADERS =
  /^(?:accept|accept-(?:charset|encoding)|authorization|connection|content-(?:encoding|length|type)|cookie2?|date|dnt|expect|host|keep-alive|origin|referer|set-cookie|te|trailer|transfer-encoding|upgrade|user-agent|via|x-request-id|(?:access-control|proxy|sec)-.*)$/

/** A token of RFC 9110 section 5.6.2, in lower case. */
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/

/** A path of text and `:name`, each a whole segment. */
const PATH = /^(\/(:?[\w.~-]+)?)+$/

/** Describes the path, query and header parameters of an operation. */
export function describeParameters(route: AppRoute, operation: Place): Parameter[] {
  const place = { ...operation, direction: 'parameter' } as const
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

/** Returns a zod schema of the contract. */
export function requireSchema(value: unknown, place: Place): z.ZodType {
  if (typeof value === 'object' && value !== null && '_zod' in value) return value as z.ZodType
  return reject(
    place,
    'is not a schema of zod 4, which c.type() and c.otherResponse() do not have; use z, or c.noBody()',
  )
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
  if (!PATH.test(path)) {
    reject(at(place, 'path'), `${path} must consist of segments that are text or :name; use query parameters`)
  }
  const names: string[] = path.match(/(?<=:)\w+/g) ?? []
  for (const segment of names) {
    if (parameters.some(({ name }) => name === segment)) continue
    reject(at(place, 'path'), `:${segment} has no schema; add it to pathParams`)
  }
  for (const { name, required } of parameters) {
    const own = at(place, `pathParams.${name}`)
    if (!names.includes(name)) reject(own, `is not in the path ${path}; add :${name} to it`)
    if (!required) reject(own, 'is optional; make it required, or add an operation')
  }
}
