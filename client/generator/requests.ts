import { ScopeSchema } from '@plant-store/contract'
import type { JsonSchema } from '@plant-store/contract/openapi'
import { type Components, type OperationModel, targetOf } from './model.ts'
import { writeInt64s } from './routes.ts'

/** Generates what the service accepts of each operation, for the fake. */
export function generateRequests(components: Components, operations: readonly OperationModel[]): string {
  const entries = operations.map(({ name, scope, pathParameters, query, headers, body }) => {
    const int64s = body && writeInt64s([body], `${name}: body`, components)
    const parts = { path: pathParameters, query, headers, body }
    const rules = { scope, ...(JSON.parse(JSON.stringify(parts, inline)) as typeof parts) }
    const lines = Object.entries(rules).map(([key, value]) => `    ${key}: ${JSON.stringify(value)},\n`)
    return `  ${name}: {\n${lines.join('')}${int64s ? `    int64s: ${int64s},\n` : ''}  },\n`
  })
  return [
    "import type { RequestRules } from '../testing/check.ts'\nimport type { OperationName } from './routes.ts'\n",
    `/** The scopes of a token. */\nexport const scopes = ${JSON.stringify(ScopeSchema.options)} as const\n`,
    '/** A scope of a token. */\nexport type Scope = (typeof scopes)[number]\n',
    `/** What the service accepts of each operation. */\nexport const requestRules: Record<OperationName, RequestRules> = {\n${entries.join('')}}\n`,
  ].join('\n')

  /** Replaces references by their components, and leaves out texts; a field may have the name of one. */
  function inline(key: string, value: JsonSchema | undefined): JsonSchema | undefined {
    if (value?.$ref !== undefined) return inline(key, components[targetOf(value.$ref)])
    const isText = ['title', 'description', 'deprecated', 'examples'].includes(key)
    return isText && (typeof value !== 'object' || Array.isArray(value)) ? undefined : value
  }
}
