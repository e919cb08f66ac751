import * as z from 'zod'
import { createSchema, type ZodOpenApiOperationObject, type ZodOpenApiResponseObject } from 'zod-openapi'
import { ErrorSchema } from '../errors.ts'
import { describeExactly } from './describe-exactly.ts'
import { type Direction, partsOf } from './json-values.ts'

/** The names of OpenAPI for the parameters of ts-rest. */
const PARAMETERS = { path: 'pathParams', query: 'query', header: 'headers' } as const

interface PlacedSchema {
  readonly schema: z.core.$ZodType
  readonly place: string
  readonly direction: Direction
}

/**
 * Checks that each component has a name of its own, and that zod can write all as JSON Schema.
 *
 * @throws Error with a place, which zod and zod-openapi do not know
 */
export function requireComponents(operations: readonly ZodOpenApiOperationObject[]): void {
  const names = new Map<unknown, z.core.$ZodType>([['Error', ErrorSchema]])
  const seen = new Set<z.core.$ZodType>()
  for (const placed of operations.flatMap(schemasOf)) {
    requireNames(placed)
    requireJsonSchema(placed)
  }

  function requireNames({ schema, place, direction }: PlacedSchema): void {
    if (seen.has(schema)) return
    seen.add(schema)
    const { id } = z.globalRegistry.get(schema) ?? {}
    if (id !== undefined && (names.get(id) ?? schema) !== schema) {
      throw new Error(`${place}: another schema has the id ${id}; use one schema, or rename one`)
    }
    if (id !== undefined) names.set(id, schema)
    for (const [suffix, part] of partsOf(schema, direction)) {
      requireNames({ schema: part, place: place + suffix, direction })
    }
  }
}

function requireJsonSchema({ schema, place, direction }: PlacedSchema): void {
  try {
    createSchema(schema, { io: direction === 'output' ? 'output' : 'input', opts: { override: describeExactly } })
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw new Error(`${place}: JSON Schema cannot express it; change its schema or metadata (${message})`, {
      cause: error,
    })
  }
}

function schemasOf(operation: ZodOpenApiOperationObject): PlacedSchema[] {
  const { operationId, requestParams = {}, requestBody, responses } = operation
  const parameters = Object.entries(PARAMETERS).flatMap(([kind, place]) => {
    const object = requestParams[kind as keyof typeof PARAMETERS]
    const fields = object instanceof z.ZodObject ? Object.entries(object.shape) : []
    return fields.map(([name, schema]) => ({ schema, place: `${place}.${name}`, direction: 'parameter' as const }))
  })
  const bodies = [
    { schema: contentOf(requestBody), place: 'body', direction: 'input' as const },
    ...Object.entries(responses).map(([status, response]) => ({
      ...{ schema: contentOf(response), place: `response ${status}`, direction: 'output' as const },
    })),
  ]
  return [...parameters, ...bodies].flatMap(({ schema, place, direction }) =>
    schema instanceof z.ZodType ? { schema, place: `${operationId}: ${place}`, direction } : [],
  )
}

function contentOf(message: Pick<ZodOpenApiResponseObject, 'content'> | undefined): unknown {
  return message?.content?.['application/json']?.schema
}
