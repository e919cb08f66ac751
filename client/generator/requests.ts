import type { JsonSchema } from '@plant-store/contract/openapi'
import { type Components, type OperationModel, resolve } from './model.ts'

/** Generates what the service accepts of each operation, for the fake. */
export function generateRequests(components: Components, operations: readonly OperationModel[]): string {
  const entries = operations.map(({ name, fields }) => {
    const parts = (['path', 'query', 'body'] as const).map((part) => {
      const own = fields.filter(({ parts }) => parts.includes(part)).map((field) => [field.name, field.schema])
      return [part, own.length > 0 ? Object.fromEntries(own) : undefined]
    })
    return [name, Object.fromEntries(parts)]
  })
  const rules = JSON.stringify(Object.fromEntries(entries), inline, 2)
  return [
    "import type { RequestRules } from '../testing/respond.ts'\nimport type { OperationName } from './routes.ts'\n",
    `/** The fields of each operation, as the service checks them. */\nexport const requestRules: Record<OperationName, RequestRules> = ${rules}\n`,
  ].join('\n')

  /** Replaces references by their components, and leaves out texts; a field may have the name of one. */
  function inline(key: string, value: JsonSchema | undefined): unknown {
    if (value?.$ref !== undefined) return inline(key, resolve(value, components))
    const isText = ['title', 'description', 'deprecated', 'examples'].includes(key)
    return isText && (typeof value !== 'object' || Array.isArray(value)) ? undefined : value
  }
}
