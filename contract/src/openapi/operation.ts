import { type AppRoute, ContractNoBody, isAppRoute } from '@ts-rest/core'
import * as z from 'zod'
import type { ZodOpenApiOperationObject } from 'zod-openapi'
import { type OperationMetadata, ScopeSchema } from '../contract.ts'
import { describeParameters } from './parameters.ts'
import { describeResponses } from './responses.ts'
import { requireBody } from './schemas.ts'

/** The methods that ts-rest serves, written as it compares them. */
const METHODS: readonly string[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] satisfies AppRoute['method'][]

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
    throw new Error(`${name}: is not an operation; move the operations of a nested router to the top level`)
  }
  const { method, metadata } = value as AppRoute
  if (!METHODS.includes(method)) {
    throw new Error(`${name}: the method ${method} is not supported; use ${METHODS.join(', ')}`)
  }
  const [issue] = MetadataSchema.safeParse(metadata).error?.issues ?? []
  if (issue) throw new Error(`${name}: ${['metadata', ...issue.path].join('.')}: ${issue.message}`)
  return value as AppRoute
}

/** Returns what a contract says about an operation beyond the fields of ts-rest. */
export function metadataOf({ metadata }: AppRoute): OperationMetadata {
  return metadata as OperationMetadata
}

/**
 * Describes an operation for the OpenAPI document.
 *
 * @throws Error if the document cannot express a part of it
 */
export function describeOperation(name: string, route: AppRoute): ZodOpenApiOperationObject {
  const { scope, tag, paged } = metadataOf(route)
  return {
    operationId: name,
    ...(route.summary !== undefined && { summary: route.summary }),
    ...(route.description !== undefined && { description: route.description }),
    ...(tag && { tags: [tag.name] }),
    ...(route.deprecated && { deprecated: true }),
    security: [{ bearer: [scope] }],
    requestParams: describeParameters(name, route),
    ...requestBody(name, route),
    responses: describeResponses(name, route, paged === true),
  }
}

function requestBody(name: string, route: AppRoute): Pick<ZodOpenApiOperationObject, 'requestBody'> {
  const { body, contentType = 'application/json' } = route as { body?: unknown; contentType?: string }
  if (body === undefined || body === ContractNoBody) return {}
  if (route.method === 'GET') throw new Error(`${name}: body: a GET request has no body; use \`query\``)
  if (contentType !== 'application/json') {
    throw new Error(`${name}: body: has the content type ${contentType}; only JSON is supported, so remove contentType`)
  }
  const schema = requireBody(body, `${name}: body`, 'input')
  return { requestBody: { required: true, content: { 'application/json': { schema } } } }
}
