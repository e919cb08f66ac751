import { type AppRoute, ContractNoBody, isAppRoute } from '@ts-rest/core'
import * as z from 'zod'
import { type OperationMetadata, ScopeSchema } from '../contract.ts'
import { type ErrorName, ErrorSchema, errorCatalogue, statusOf } from '../errors.ts'
import { type Header, responseHeaders } from './headers.ts'
import { describeParameters, type Parameter, requireSchema } from './parameters.ts'
import {
  at,
  type Components,
  describe,
  type JsonSchema,
  type Place,
  reject,
  requirePresent,
  resolve,
} from './schema.ts'

/** A body, by its media type. */
export interface Content {
  readonly 'application/json': { readonly schema: JsonSchema; readonly examples?: Readonly<Record<string, Example>> }
}

interface Example {
  readonly summary: string
  readonly value: unknown
}

/** A response of an operation. */
export interface Response {
  readonly description: string
  readonly headers: Readonly<Record<string, Header>>
  readonly content?: Content
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
  readonly requestBody?: { readonly required: true; readonly content: Content }
  readonly responses: Readonly<Record<string, Response>>
}

/** The methods that ts-rest serves, written as it compares them. */
const METHODS: readonly string[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] satisfies AppRoute['method'][]

/** Responses with these statuses never have a body (RFC 9110 sections 15.3.5 and 15.3.6). */
const STATUSES_WITHOUT_BODY = [204, 205]

const SCOPES = { error: `must be ${ScopeSchema.options.map((scope) => `'${scope}'`).join(' or ')}` }
const SWITCH = { error: 'must be true or false' }

const MetadataSchema = z.strictObject(
  {
    scope: z.enum(ScopeSchema.options, SCOPES),
    tag: z
      .strictObject({ name: z.string(), description: z.string() }, { error: 'must have a name and a description only' })
      .optional(),
    paged: z.boolean(SWITCH).optional(),
    idempotent: z.boolean(SWITCH).optional(),
  },
  { error: (issue) => `must be an object with scope, tag, paged and idempotent only; ${unknownKeys(issue)}` },
) satisfies z.ZodType<OperationMetadata>

function unknownKeys(issue: z.core.$ZodRawIssue): string {
  return issue.code === 'unrecognized_keys' ? `remove ${issue.keys.join(', ')}` : 'add the scope'
}

/**
 * Returns an operation of a contract.
 *
 * @throws Error if it is a nested router, its metadata is invalid, or no server would serve it
 */
export function asOperation(name: string, value: unknown): AppRoute {
  if (!(value instanceof Object && isAppRoute(value as AppRoute))) {
    return reject({ name }, 'is not an operation; move the operations of a nested router to the top level')
  }
  const { method, metadata } = value as AppRoute
  if (!METHODS.includes(method)) reject({ name }, `the method ${method} is not supported; use ${METHODS.join(', ')}`)
  const [issue] = MetadataSchema.safeParse(metadata).error?.issues ?? []
  if (issue) reject({ name: `${name}: ${['metadata', ...issue.path].join('.')}` }, issue.message)
  return value as AppRoute
}

/** Returns what a contract says about an operation beyond the fields of ts-rest. */
export function metadataOf({ metadata }: AppRoute): OperationMetadata {
  return metadata as OperationMetadata
}

/**
 * Describes an operation for the OpenAPI document, and adds its components.
 *
 * @throws Error with the place and the fix, if the document or the SDK cannot express a part of it
 */
export function describeOperation(name: string, route: AppRoute, components: Components): Operation {
  const { scope, tag, paged = false } = metadataOf(route)
  const place: Place = { name: `${name}: `, direction: 'request', components }
  const parameters = describeParameters(route, place)
  const requestBody = describeRequest(route, at(place, 'body'))
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
    ...(requestBody && { requestBody }),
    responses,
  }
}

function describeRequest(route: AppRoute, place: Place): Operation['requestBody'] {
  const { body, contentType = 'application/json' } = route as { body?: unknown; contentType?: string }
  if (body === undefined || body === ContractNoBody) return undefined
  if (route.method === 'GET') reject(place, 'a GET request has no body; use `query`')
  if (contentType !== 'application/json') {
    reject(place, `has the content type ${contentType}; only JSON is supported, so remove contentType`)
  }
  return { required: true, content: describeBody(body, place) }
}

function describeBody(value: unknown, place: Place): Content {
  const schema = requireSchema(value, place)
  requirePresent(schema, place, 'make it required, or use c.noBody()')
  return { 'application/json': { schema: describe(schema, place) } }
}

function describeResponses(declared: AppRoute['responses'], paged: boolean, place: Place): Operation['responses'] {
  const responses = Object.entries(declared).map(([text, body]) => {
    const own = at(place, `response ${text}`)
    if (!/^[245]\d\d$/.test(text)) reject(own, 'the SDK follows no redirect; use a status of 2xx, 4xx and 5xx')
    return [text, describeResponse(Number(text), body, paged, own)] as const
  })
  if (!responses.some(([status]) => status.startsWith('2'))) {
    reject(at(place, 'responses'), 'must have a success status (2xx); add one')
  }
  return Object.fromEntries(responses)
}

function describeResponse(status: number, body: unknown, paged: boolean, place: Place): Response {
  const response = { description: describeStatus(status), headers: responseHeaders(status, paged) }
  if (status >= 400) {
    if (body !== ErrorSchema) {
      reject(place, 'an error must have the body ErrorSchema; add what the client needs to its message and code')
    }
    const { schema } = describeBody(body, place)['application/json']
    const examples = errorsWith(status).length > 0 && { examples: errorExamples(status) }
    return { ...response, content: { 'application/json': { schema, ...examples } } }
  }
  if (body === ContractNoBody) return response
  if (STATUSES_WITHOUT_BODY.includes(status)) reject(place, 'has no body; use c.noBody()')
  return { ...response, content: describeBody(body, place) }
}

/** Checks that an operation has what the pages of the SDK are made of. */
function checkPaged(parameters: readonly Parameter[], responses: Operation['responses'], place: Place): void {
  const successes = Object.entries(responses).filter(([status]) => status.startsWith('2'))
  const lists = successes.filter(([, { content }]) => {
    return content && resolve(content['application/json'].schema, place.components).type === 'array'
  })
  if (lists.length !== 1 || successes.length !== 1) {
    reject(place, 'only a list can be paged; return a list, or remove `paged`')
  }
  for (const name of ['limit', 'cursor']) {
    if (parameters.some((parameter) => parameter.in === 'query' && parameter.name === name && !parameter.required)) {
      continue
    }
    reject(at(place, ': query'), `a paged operation has an optional \`${name}\`; add it, or remove \`paged\``)
  }
}

/** Creates an example of each error with a status. */
function errorExamples(status: number): Record<string, Example> {
  return Object.fromEntries(
    errorsWith(status).map((name) => {
      const { code, reason } = errorCatalogue[name]
      return [name, { summary: String(code), value: { error: code, message: reason } }]
    }),
  )
}

function describeStatus(status: number): string {
  if (status < 300) return 'Success.'
  const reasons = errorsWith(status).map((name) => `${errorCatalogue[name].code}: ${errorCatalogue[name].reason}`)
  return reasons.join('\n\n') || 'Error.'
}

function errorsWith(status: number): ErrorName[] {
  const names = Object.keys(errorCatalogue) as ErrorName[]
  return names.filter((name) => statusOf(name) === status)
}
