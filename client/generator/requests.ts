import { ScopeSchema } from '@plant-store/contract'
import type { JsonSchema } from '@plant-store/contract/openapi'
import { type Components, type Field, type OperationModel, targetOf } from './model.ts'
import { writeInt64s } from './routes.ts'

/** What the fake checks of a value, besides its parts. The rest explains it. */
const KEYWORDS = [
  ...[
    'type',
    'format',
    'const',
    'enum',
    'required',
    'default',
    'pattern',
    'minLength',
    'maxLength',
    'minimum',
    'maximum',
  ],
  ...['exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minItems', 'maxItems', 'allOf'],
]

/** Generates what the service accepts of each operation, for the fake. */
export function generateRequests(components: Components, operations: readonly OperationModel[]): string {
  const entries = operations.map((operation) => {
    const { name, scope, pathParameters, query, headers, body } = operation
    const int64s = body && writeInt64s([body], `${name}: body`, components)
    const parts = { path: toObject(pathParameters), query: toObject(query), headers: toObject(headers), body }
    const lines = Object.entries(parts).map(
      ([part, schema]) => schema && `    ${part}: ${JSON.stringify(inline(schema))},\n`,
    )
    return `  ${name}: {\n    scope: '${scope}',\n${lines.join('')}${int64s ? `    int64s: ${int64s},\n` : ''}  },\n`
  })
  return [
    "import type { RequestRules } from '../testing/check.ts'\nimport type { OperationName } from './routes.ts'\n",
    `/** The scopes of a token. */\nexport const scopes = ${JSON.stringify(ScopeSchema.options)} as const\n\n/** A scope of a token. */\nexport type Scope = (typeof scopes)[number]\n`,
    `/** What the service accepts of each operation. */\nexport const requestRules: Record<OperationName, RequestRules> = {\n${entries.join('')}}\n`,
  ].join('\n')

  /** Writes a schema with all its parts in place. */
  function inline({ $ref, ...schema }: JsonSchema): JsonSchema {
    if ($ref !== undefined) return inline(components[targetOf($ref)] ?? {})
    const { items, anyOf, properties, additionalProperties } = schema
    return {
      ...Object.fromEntries(
        KEYWORDS.filter((keyword) => keyword in schema).map((keyword) => [keyword, schema[keyword]]),
      ),
      ...(items && { items: inline(items) }),
      ...(anyOf && { anyOf: anyOf.map(inline) }),
      ...(properties && {
        properties: Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, inline(part)])),
      }),
      ...(additionalProperties !== undefined && {
        additionalProperties: additionalProperties && inline(additionalProperties),
      }),
    }
  }
}

function toObject(fields: readonly Field[]): JsonSchema | undefined {
  if (fields.length === 0) return undefined
  const required = fields.filter((field) => field.required).map(({ name }) => name)
  return { type: 'object', properties: Object.fromEntries(fields.map(({ name, schema }) => [name, schema])), required }
}
