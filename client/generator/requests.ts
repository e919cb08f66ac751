import { type Field, isInt64, type OperationModel, type Schema } from './model.ts'

/** Generates what the service accepts of each operation, for the fake. */
export function generateRequests(operations: readonly OperationModel[]): string {
  // `{`, where a parameter begins, is sorted after text: the first path that matches is the one that the service chooses.
  const sorted = operations.toSorted((a, b) => (a.path < b.path ? -1 : 1))
  const rules = sorted.map(({ name, path, scope, fields }) => {
    const pattern = `^${path.replaceAll('.', '\\.').replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`
    const parts = (['path', 'query', 'body'] as const).map((part) => {
      return [part, rulesOf(fields.filter(({ parts }) => parts.includes(part)))]
    })
    return [name, { pattern, scope, ...Object.fromEntries(parts) }]
  })
  return [
    "import type { RequestRules } from '../testing/input.ts'\nimport type { OperationName } from './routes.ts'\n",
    '/** What the service accepts of each operation, in the order in which it compares paths. */',
    `export const requestRules: Record<OperationName, RequestRules> = ${JSON.stringify(Object.fromEntries(rules), null, 2)}\n`,
  ].join('\n')
}

/** Returns what the service accepts as the values of fields, by their names. */
function rulesOf(fields: readonly Field[]): object {
  return Object.fromEntries(fields.map(({ name, required, schema }) => [name, { required, ...ruleOf(schema) }]))
}

/** Returns what the service accepts as a value, and its message about any other. */
function ruleOf(schema: Schema): object {
  const { type = '', isNullable, ...own } = schema
  const [minimum, maximum] = isInt64(schema) ? [-(2n ** 63n), 2n ** 63n - 1n] : [own['minimum'], own['maximum']]
  const range = maximum === undefined ? '' : ` between ${minimum} and ${maximum}`
  const article = type === 'integer' ? 'an' : 'a'
  return {
    types: [isInt64(schema) ? 'int64' : type, isNullable ? 'null' : []].flat(),
    minimum: own['minimum'] ?? own['minLength'],
    maximum: own['maximum'] ?? own['maxLength'],
    patterns: [own['pattern'] ?? []].flat(),
    message: `must be ${article} ${type}${range}${isInt64(schema) ? ' (int64)' : ''}`,
  }
}
