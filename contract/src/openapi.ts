import { contract, type OperationMetadata } from './contract.ts'
import { ErrorSchema, errorCatalogue } from './errors.ts'
import { asOperation, describeOperation, type Operation, type Route } from './openapi/operation.ts'
import { type Components, describe, type JsonSchema, reject } from './openapi/schema.ts'

export type { Operation, Parameter } from './openapi/operation.ts'
export type { Content } from './openapi/responses.ts'
export type { JsonSchema, Literal } from './openapi/schema.ts'

/** Most generated clients are not exact here: this is what their users need to know. */
const IDS =
  'Ids are 64-bit integers (`int64`), written as JSON numbers. Above 2^53 (9007199254740992), `JSON.parse` and ' +
  '`JSON.stringify` of JavaScript round them: a generated client needs a JSON serializer that writes `bigint` exactly, ' +
  'or has to stay at or below that number.'

interface NamedRoute {
  readonly name: string
  readonly route: Route
}

/** What the OpenAPI document needs beyond the contract. */
export interface OpenApiOptions {
  /** The base URL of the service, without a trailing slash. Default: `/`, the origin that served the document. */
  serverUrl?: string | undefined
  /** The operations to describe. Default: the plant store contract. */
  operations?: Record<string, unknown>
}

/** The operations of each path, by their method in lower case. */
type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>

/** An OpenAPI 3.1 document. */
export type OpenApiDocument = ReturnType<typeof createOpenApiDocument>

/**
 * Creates the OpenAPI 3.1 document of the service from the contract.
 *
 * @throws Error with the operation, the place and what to do, if the document or the SDK cannot express a part of it
 */
export function createOpenApiDocument({ serverUrl = '/', operations = contract }: OpenApiOptions = {}) {
  const routes = Object.entries(operations).map(([name, value]) => ({ name, route: asOperation(name, value) }))
  const components: Components = new Map()
  const paths = describePaths(routes, components)
  // Any path may respond with it, also where no operation says so.
  describe(ErrorSchema, { name: 'Error', direction: 'response', components })
  return {
    openapi: '3.1.1',
    info: {
      title: 'Plant Store',
      version: '1.0.0',
      description: `A small plant store: create plants, list plants.\n\n${IDS}\n\n${errorTable()}`,
      contact: { name: 'Plant Store maintainers' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: serverUrl }],
    security: [{ bearer: [] }],
    tags: collectTags(routes),
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

function describePaths(routes: readonly NamedRoute[], components: Components): Paths {
  const paths: Record<string, Record<string, Operation>> = {}
  for (const [index, { name, route }] of routes.entries()) {
    for (const earlier of routes.slice(0, index)) requireReachable({ name, route }, earlier)
    const template = templateOf(route.path)
    const operation = describeOperation(name, route, components)
    paths[template] = { ...paths[template], [route.method.toLowerCase()]: operation }
  }
  return paths
}

/** Rejects an operation whose requests a router sends to an earlier one, or whose path is that of another in other words. */
function requireReachable({ name, route: { method, path } }: NamedRoute, earlier: NamedRoute): void {
  const { route: other } = earlier
  if (!covers(other.path, path)) return
  if (path !== other.path && covers(path, other.path)) {
    reject({ name }, `another operation has this path as ${templateOf(other.path)}; use the same names of parameters`)
  }
  if (method !== other.method) return
  if (path === other.path) reject({ name }, `another operation is ${method} ${path}; change it`)
  const reason = `${earlier.name} before it takes its requests: ${method} ${other.path} also matches ${path}`
  reject({ name }, `${reason}; move ${name} before ${earlier.name}`)
}

function covers(path: string, other: string): boolean {
  const [parts, others] = [path.split('/'), other.split('/')]
  return parts.length === others.length && parts.every((part, index) => part.startsWith(':') || part === others[index])
}

function templateOf(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}')
}

/** Lists each tag of the operations once. */
function collectTags(routes: readonly NamedRoute[]): NonNullable<OperationMetadata['tag']>[] {
  const tags = routes.flatMap(({ route }) => route.metadata.tag ?? [])
  return [...new Map(tags.map((tag) => [tag.name, tag])).values()]
}

function errorTable(): string {
  const rows = Object.values(errorCatalogue).map(
    ({ code, reason }) => `| ${code} | ${Math.floor(code / 100)} | ${reason} |`,
  )
  return ['| error | status | meaning |', '|---|---|---|', ...rows].join('\n')
}
