import type { AppRoute } from '@ts-rest/core'
import * as z from 'zod'
import type { createDocument } from 'zod-openapi'
import { partsOf, requireJson } from './json-values.ts'
import { requireText } from './parameter-text.ts'
import { isOptional, requireSchema } from './schemas.ts'

/** Headers that the SDK or `fetch` sets, or that the application may not set; OpenAPI ignores some of them. */
const RESERVED_HEADERS =
  /^(?:accept|accept-(?:charset|encoding)|authorization|connection|content-(?:encoding|length|type)|cookie2?|date|dnt|expect|host|keep-alive|origin|referer|set-cookie|te|trailer|transfer-encoding|upgrade|user-agent|via|x-request-id|(?:access-control|proxy|sec)-.*)$/

/** A token of RFC 9110 section 5.6.2, in lower case. */
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/

/** A path of text and `:name`, each a whole segment. */
const PATH = /^(\/(:?[\w.~-]+)?)+$/

/** Describes the path, query and header parameters of an operation. */
export function describeParameters(name: string, route: AppRoute) {
  const { path, query, headers } = {
    path: objectOf(route.pathParams, `${name}: pathParams`),
    query: objectOf(route.query, `${name}: query`),
    headers: objectOf(asObject(route.headers, `${name}: headers`), `${name}: headers`),
  }
  checkPath(name, route.path, path)
  for (const [header, schema] of Object.entries(headers?.shape ?? {})) {
    checkHeader(header, `${name}: headers.${header}`)
    checkHeaderValues(schema, `${name}: headers.${header}`)
  }
  return { ...(path && { path }), ...(query && { query }), ...(headers && { header: headers }) }
}

/** Turns the headers of ts-rest, a record of schemas or an object schema, into an object schema. */
function asObject(headers: AppRoute['headers'], place: string): unknown {
  if (typeof headers !== 'object' || headers === null || '_zod' in headers) return headers
  if (!isSchemaRecord(headers)) {
    throw new Error(
      `${place}: ts-rest cannot merge the z.object() of a router and an operation; use records of schemas`,
    )
  }
  // ts-rest removes a header of the router from one operation by `null`.
  const schemas = Object.entries(headers).filter(([, schema]) => schema !== null)
  return schemas.length > 0 ? z.object(Object.fromEntries(schemas)) : undefined
}

/** Whether these are schemas by name, rather than two object schemas that ts-rest has spread into one object. */
function isSchemaRecord(headers: object): boolean {
  return !('def' in headers && headers.def instanceof Object && 'shape' in headers.def)
}

function checkHeader(header: string, place: string): void {
  // ts-rest looks for the name as it is written, among the names of Node.js.
  if (header !== header.toLowerCase()) throw new Error(`${place}: has upper case letters; write it in lower case`)
  if (!HEADER_NAME.test(header)) {
    throw new Error(`${place}: is not the name of a header; use letters, digits and hyphens`)
  }
  if (RESERVED_HEADERS.test(header)) throw new Error(`${place}: is set by the client itself; remove it`)
}

/** Checks that `fetch` can send each value of an enum, and that the server receives it unchanged. */
function checkHeaderValues(schema: z.core.$ZodType, place: string, seen = new Set()): void {
  if (seen.has(schema)) return
  seen.add(schema)
  const { def } = schema._zod as z.core.$ZodTypes['_zod']
  const values = def.type === 'enum' ? Object.values(def.entries) : def.type === 'literal' ? def.values : []
  for (const value of values.map(String)) {
    if (/^[ -~]*$/.test(value) && value === value.trim()) continue
    throw new Error(`${place}: a header cannot have the value "${value}"; use ASCII without spaces at the ends`)
  }
  for (const [, part] of partsOf(schema, 'parameter')) checkHeaderValues(part, place, seen)
}

function objectOf(value: unknown, place: string): z.ZodObject | undefined {
  if (value === undefined) return undefined
  const schema = requireSchema(value, place)
  if (!(schema instanceof z.ZodObject)) throw new Error(`${place}: must be a z.object() with a field per parameter`)
  const { catchall } = schema.def
  if (catchall && catchall._zod.def.type !== 'never') {
    throw new Error(`${place}: takes parameters of any name; name each in a z.object()`)
  }
  const fields = Object.entries(schema.shape)
  return z.object(
    Object.fromEntries(fields.map(([name, field]) => [name, requireParameter(field, `${place}.${name}`)])),
  )
}

function requireParameter(value: unknown, place: string): z.ZodType {
  const parameter = requireSchema(value, place)
  requireJson(parameter, place, 'parameter')
  requireText(parameter, place)
  // zod takes every z.preprocess() for optional.
  const isRequired = isOptional(parameter, 'parameter') && !parameter.safeParse(undefined).success
  return isRequired ? z.nonoptional(parameter) : parameter
}

function checkPath(name: string, path: string, parameters: z.ZodObject | undefined): void {
  if (!PATH.test(path)) {
    throw new Error(`${name}: path: ${path} must consist of segments that are text or :name; use query parameters`)
  }
  const shape = parameters?.shape ?? {}
  const names: string[] = path.match(/(?<=:)\w+/g) ?? []
  for (const segment of names) {
    if (!(segment in shape)) throw new Error(`${name}: path: :${segment} has no schema; add it to pathParams`)
  }
  for (const [field, schema] of Object.entries(shape)) {
    const place = `${name}: pathParams.${field}`
    if (!names.includes(field)) throw new Error(`${place}: is not in the path ${path}; add :${field} to it`)
    if (isOptional(schema, 'parameter')) throw new Error(`${place}: is optional; make it required, or add an operation`)
  }
}

/** Repeats at each parameter what OpenAPI wants there and zod writes into its schema. */
export function hoistFromSchemas({ paths = {} }: ReturnType<typeof createDocument>): void {
  for (const operation of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    for (const parameter of operation.parameters ?? []) {
      const { deprecated, description } = parameter.schema ?? {}
      if (deprecated) parameter.deprecated = true
      if (description) parameter.description ??= description
    }
  }
}
