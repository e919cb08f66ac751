import type { OpenApiDocument } from '@plant-store/contract/openapi'
import { checkOperation } from './check-operation.ts'
import {
  type Components,
  type Description,
  ERROR,
  type ErrorCatalogue,
  type OperationDescription,
  type ParameterPlace,
  partsOf,
  schemasOf,
} from './description.ts'
import { type Field, type JsonSchema, readField, readSchema, reject, type Schema } from './schema.ts'

/** What the SDK is generated from: the OpenAPI document, and the contract for what OpenAPI cannot express. */
export interface Source {
  readonly contract: object
  readonly document: OpenApiDocument
  readonly errorCatalogue: ErrorCatalogue
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: unknown }>>
}

interface Parameter {
  readonly in: string
  readonly name: string
  readonly required?: boolean
  readonly deprecated?: boolean
  readonly schema: JsonSchema
}

interface Operation {
  readonly operationId: string
  readonly summary?: string
  readonly description?: string
  readonly deprecated?: boolean
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Content
  readonly responses: Readonly<Record<string, Content>>
}

/** The part of an operation in the contract that the document does not have. */
interface Route {
  readonly method: string
  readonly metadata?: Metadata
}

interface Metadata {
  readonly scope?: string
  readonly paged?: boolean
  readonly idempotent?: boolean
}

/**
 * Parses the source into what the SDK needs.
 *
 * @throws Error if the contract says something that the SDK cannot do: the message names operation, place and fix
 */
export function describe({ contract, document }: Source): Description {
  const schemas = (document.components?.schemas ?? {}) as Record<string, JsonSchema>
  const components = Object.fromEntries(
    Object.entries(schemas).map(([name, description]) => {
      return [name, { description, schema: readSchema(description, name) }]
    }),
  )
  const operations = Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, Operation>).map(([method, operation]) => {
      const route = (contract as Record<string, Route>)[operation.operationId]
      return describeOperation(operation, route?.method ?? method, path, route?.metadata ?? {})
    }),
  )
  if (operations.length === 0) reject('The contract', 'has no operation; add one')
  for (const operation of operations) {
    for (const schema of schemasOf(operation)) rejectRecursion(schema, operation.name, components)
    checkOperation(operation, components)
  }
  return { components, operations }
}

function describeOperation(
  operation: Operation,
  method: string,
  path: string,
  { scope = '', paged = false, idempotent = true }: Metadata,
): OperationDescription {
  const { operationId: name, description, summary, deprecated = false, requestBody, parameters = [] } = operation
  const statuses = Object.keys(operation.responses)
  for (const status of statuses) {
    if (!/^[245]\d\d$/.test(status)) {
      reject(name, `the status ${status} is not supported: the SDK follows no redirect; use 2xx, 4xx and 5xx`)
    }
  }
  const [successes, declaredErrors] = [/^2/, /^[45]/].map((kind) =>
    statuses.filter((status) => kind.test(status)).map(Number),
  )
  if (!successes?.length) return reject(name, 'must declare a success status (2xx)')
  for (const status of declaredErrors ?? []) checkError(operation.responses[status], `${name}: the status ${status}`)
  return {
    name,
    method,
    path,
    description: description ?? summary ?? name,
    deprecated,
    parameters: {
      path: readParameters(parameters, 'path', name),
      query: readParameters(parameters, 'query', name),
      header: readParameters(parameters, 'header', name),
    },
    body: requestBody && readContent(requestBody, `${name}: body`),
    responses: successes.map((status) => ({
      status,
      schema: readContent(operation.responses[status], `${name}: response ${status}`),
    })),
    declaredErrors: declaredErrors ?? [],
    scope,
    paged,
    idempotent,
  }
}

function readParameters(parameters: readonly Parameter[], place: ParameterPlace, operation: string): Field[] {
  return parameters
    .filter((parameter) => parameter.in === place)
    .map(({ name, required = false, deprecated, schema }) => {
      return readField(
        name,
        { ...schema, ...(deprecated && { deprecated }) },
        required,
        `${operation}: ${place}.${name}`,
      )
    })
}

function readContent(message: Content | undefined, place: string): Schema | undefined {
  const media = message?.content?.['application/json']
  return media && readSchema(media.schema, place)
}

function checkError(message: Content | undefined, place: string): void {
  const schema = readContent(message, place)
  if (schema?.kind === 'component' && schema.name === ERROR) return
  reject(place, 'an error must have the body ErrorSchema; add what the client needs to its message and code')
}

function rejectRecursion(
  schema: Schema,
  operation: string,
  components: Components,
  outer: readonly string[] = [],
): void {
  for (const part of partsOf(schema)) rejectRecursion(part, operation, components, outer)
  if (schema.kind !== 'component') return
  const { name } = schema
  if (outer.includes(name)) {
    reject(operation, `${name} contains itself, which is not supported; refer to the inner one by its id`)
  }
  const target = components[name]
  if (target) rejectRecursion(target.schema, operation, components, [...outer, name])
}
