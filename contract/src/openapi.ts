import { type AppRoute, isAppRoute } from '@ts-rest/core'
import {
  createDocument,
  type ZodOpenApiObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiResponseObject,
} from 'zod-openapi'
import { contract, type OperationMetadata } from './contract.ts'
import { errorCatalogue } from './errors.ts'

/** What the OpenAPI document needs beyond the contract. */
export interface OpenApiOptions {
  /** The base URL of the service, without a trailing slash. Default: `/`, the origin that served the document. */
  serverUrl?: string | undefined
  /** The operations to describe. Default: the plant store contract. */
  operations?: Record<string, unknown>
}

/** An OpenAPI 3.1 document. */
export type OpenApiDocument = ReturnType<typeof createDocument>

/** Creates the OpenAPI 3.1 document of the service from the contract. */
export function createOpenApiDocument({
  serverUrl = '/',
  operations = contract,
}: OpenApiOptions = {}): OpenApiDocument {
  const paths: NonNullable<ZodOpenApiObject['paths']> = {}
  for (const [operationId, route] of Object.entries(operations)) {
    if (!isAppRoute(route as AppRoute)) throw new Error(`${operationId} is not an operation`)
    const { method, path } = route as AppRoute
    const template = path.replace(/:(\w+)/g, '{$1}')
    paths[template] = { ...paths[template], [method.toLowerCase()]: operation(operationId, route as AppRoute) }
  }
  return createDocument(
    {
      openapi: '3.1.1',
      info: {
        title: 'Plant Store',
        version: '1.0.0',
        description: `A small plant store: create plants, list plants.\n\n${errorTable()}`,
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: serverUrl }],
      security: [{ bearer: [] }],
      paths,
      components: {
        securitySchemes: {
          bearer: {
            type: 'http',
            scheme: 'bearer',
            description: 'The header `Authorization: Bearer <ACCESS_TOKEN>` (RFC 6750).',
          },
        },
      },
    },
    {
      override: ({ jsonSchema }) => {
        // A later version may add fields, so clients must not reject unknown ones.
        delete jsonSchema.additionalProperties
      },
    },
  )
}

function operation(operationId: string, route: AppRoute): ZodOpenApiOperationObject {
  const metadata = route.metadata as OperationMetadata
  const parameters = { query: 'query' in route ? route.query : undefined, path: route.pathParams }
  const body = 'body' in route ? route.body : undefined
  return {
    operationId,
    ...(route.summary !== undefined && { summary: route.summary }),
    ...(route.description !== undefined && { description: route.description }),
    security: [{ bearer: [metadata.scope] }],
    requestParams: Object.fromEntries(Object.entries(parameters).filter(([, schema]) => schema)),
    ...(body && { requestBody: { required: true, content: { 'application/json': { schema: body } } } }),
    responses: Object.fromEntries(
      Object.entries(route.responses).map(([status, schema]) => [status, response(Number(status), schema, metadata)]),
    ),
  } as ZodOpenApiOperationObject
}

function response(status: number, schema: unknown, { paged }: OperationMetadata): ZodOpenApiResponseObject {
  return {
    description: describeStatus(status),
    headers: responseHeaders(status, paged),
    content: { 'application/json': { schema } },
  } as ZodOpenApiResponseObject
}

function responseHeaders(status: number, paged: boolean | undefined) {
  return {
    'X-Request-Id': header('Identifies this request in the server logs.'),
    ...(status === 200 &&
      paged && { Link: header('With `limit`, if there are more plants: the next page, `rel="next"` (RFC 8288).') }),
    ...(status === 401 && {
      'WWW-Authenticate': header('`Bearer`, with `error="invalid_token"` if a token was sent (RFC 6750).'),
    }),
    ...(status === 403 && { 'WWW-Authenticate': header('`Bearer` with `error="insufficient_scope"` (RFC 6750).') }),
    ...((status === 429 || status === 503) && { 'Retry-After': header('Seconds to wait before a retry.') }),
  }
}

function header(description: string) {
  return { description, schema: { type: 'string' as const } }
}

function describeStatus(status: number): string {
  if (status < 300) return 'Success.'
  return reasons()
    .filter(({ code }) => Math.floor(code / 100) === status)
    .map(({ code, reason }) => `${code}: ${reason}`)
    .join('\n\n')
}

function errorTable(): string {
  const rows = reasons().map(({ code, reason }) => `| ${code} | ${Math.floor(code / 100)} | ${reason} |`)
  return ['| error | status | meaning |', '|---|---|---|', ...rows].join('\n')
}

function reasons(): { code: number; reason: string }[] {
  return Object.values(errorCatalogue)
}
