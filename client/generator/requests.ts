import { isInt64, type OperationModel, type Schema } from './model.ts'

/** Generates what the service accepts of each operation, for the fake. */
export function generateRequests(operations: readonly OperationModel[]): string {
  const entries = operations.map(({ name, scope, fields }) => {
    const parts = (['path', 'query', 'body'] as const).map((part) => {
      const own = fields.filter(({ parts }) => parts.includes(part))
      const rules = own.map((field) => [field.name, { required: field.required, ...ruleOf(field.schema) }])
      return [part, Object.fromEntries(rules)]
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

/** Returns what the service accepts as a value, and its message about any other. */
function ruleOf(schema: Schema): object {
  const { type = '', isNullable, enum: values, items, minimum, maximum } = schema
  const limits = isInt64(schema) ? { minimum: -(2n ** 63n), maximum: 2n ** 63n - 1n } : { minimum, maximum }
  const range = limits.maximum === undefined ? '' : ` between ${limits.minimum} and ${limits.maximum}`
  const message = values
    ? `must be ${values.map((each) => `"${each}"`).join(' or ')}`
    : `must be ${/^[aio]/.test(type) ? 'an' : 'a'} ${type}${range}${isInt64(schema) ? ' (int64)' : ''}`
  return { type, isNullable, values, items: items && ruleOf(items), ...limits, message }
}
