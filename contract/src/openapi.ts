import { createDocument, type ZodOpenApiObject } from 'zod-openapi'
import { contract } from './contract.ts'
import { errorCatalogue } from './errors.ts'
import { asOperation, describeOperation } from './openapi/operation.ts'
import { hoistFromSchemas } from './openapi/parameters.ts'
import { describeExactly } from './openapi/schemas.ts'

/** What the OpenAPI document needs beyond the contract. */
export interface OpenApiOptions {
  /** The base URL of the service, without a trailing slash. Default: `/`, the origin that served the document. */
  serverUrl?: string | undefined
  /** The operations to describe. Default: the plant store contract. */
  operations?: Record<string, unknown>
}

/** An OpenAPI 3.1 document. */
export type OpenApiDocument = ReturnType<typeof createDocument>

/**
 * Creates the OpenAPI 3.1 document of the service from the contract.
 *
 * @throws Error with the operation, the place and what to do, if the document cannot express a part of the contract
 */
export function createOpenApiDocument({
  serverUrl = '/',
  operations = contract,
}: OpenApiOptions = {}): OpenApiDocument {
  const document = createDocument(
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
      paths: describePaths(operations),
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
    { override: describeExactly },
  )
  hoistFromSchemas(document)
  return document
}

function describePaths(operations: Record<string, unknown>): NonNullable<ZodOpenApiObject['paths']> {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const [name, value] of Object.entries(operations)) {
    const route = asOperation(name, value)
    const template = route.path.replace(/:(\w+)/g, '{$1}')
    const method = route.method.toLowerCase()
    paths[template] ??= {}
    if (paths[template][method])
      throw new Error(`${name}: another operation is ${route.method} ${route.path}; change it`)
    paths[template][method] = describeOperation(name, route)
  }
  return paths
}

function errorTable(): string {
  const rows = Object.values(errorCatalogue).map(
    ({ code, reason }) => `| ${code} | ${Math.floor(code / 100)} | ${reason} |`,
  )
  return ['| error | status | meaning |', '|---|---|---|', ...rows].join('\n')
}
