import { type JsonSchema, rejectContract } from '@plant-store/contract/openapi'
import { type Field, fieldsOf, isInt64, type OperationModel, type Schema } from './model.ts'

/** Generates what the service accepts of each operation, for the fake. */
export function generateRequests(operations: readonly OperationModel[]): string {
  const entries = operations.map(({ name, scope, fields }) => {
    const parts = (['path', 'query', 'body'] as const).map((part) => {
      const own = fields.filter(({ parts }) => parts.includes(part))
      return [part, rulesOf(name, own)]
    })
    return [name, { scope, ...Object.fromEntries(parts) }]
  })
  // Marked with U+0000, which no other text has. A literal is a syntax error for the bundlers of older browsers.
  const mark = (_: string, value: unknown) => (typeof value === 'bigint' ? `\0${value}` : value)
  const rules = JSON.stringify(Object.fromEntries(entries), mark, 2).replace(/"\\u0000(-?\d+)"/g, 'BigInt("$1")')
  return [
    "import type { RequestRules } from '../testing/service.ts'\nimport type { OperationName } from './routes.ts'\n",
    `/** The fields of each operation, as the service checks them. */\nexport const requestRules: Record<OperationName, RequestRules> = ${rules}\n`,
  ].join('\n')
}

/** Returns what the service accepts as the values of fields, by their names. */
function rulesOf(place: string, fields: readonly Field[]): object {
  const rules = fields.map(({ name, required, schema }) => [name, { required, ...ruleOf(`${place}: ${name}`, schema) }])
  return Object.fromEntries(rules)
}

/** Returns what the service accepts as a value, and its message about any other. */
function ruleOf(place: string, schema: Schema): object {
  const { type = '', isNullable, enum: values, items, properties, format, ...own } = schema
  const limits: JsonSchema = isInt64(schema) ? { minimum: -(2n ** 63n), maximum: 2n ** 63n - 1n } : own
  const range = limits['maximum'] === undefined ? '' : ` between ${limits['minimum']} and ${limits['maximum']}`
  const message = values
    ? `must be ${values.map((each) => `"${each}"`).join(' or ')}`
    : `must be ${/^[aio]/.test(type) ? 'an' : 'a'} ${type}${range}${isInt64(schema) ? ' (int64)' : ''}`
  const { exclusiveMinimum: above, exclusiveMaximum: below, pattern, allOf = [] } = own
  const patterns = [pattern ?? [], (allOf as JsonSchema[]).map((each) => each['pattern'])].flat()
  const isOpen = type === 'number' && (above ?? below) !== undefined
  if (isOpen || 'multipleOf' in own || (type === 'string' && format && patterns.length === 0))
    rejectContract(place, 'the fake cannot check it; use .min(), .max() or .regex()')
  return {
    ...{ type, isNullable, values, message },
    items: items && ruleOf(place, items),
    fields: properties && rulesOf(place, fieldsOf(schema)),
    minimum:
      limits['minimum'] ?? own['minLength'] ?? own['minItems'] ?? (above === undefined ? above : Number(above) + 1),
    maximum:
      limits['maximum'] ?? own['maxLength'] ?? own['maxItems'] ?? (below === undefined ? below : Number(below) - 1),
    // Each as a condition of its own.
    pattern: patterns.length > 1 ? patterns.map((each) => `(?=[^]*?(?:${each}))`).join('') : patterns[0],
  }
}
