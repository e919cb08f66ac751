/** Generates the route table, which is data. */
import type { JsonSchema } from '@plant-store/contract/openapi'
import { type Components, type Field, isInt64, type OperationModel, resolve } from './model.ts'
import { literal } from './typescript.ts'

/** Generates how to send each operation. */
export function generateRoutes(components: Components, operations: readonly OperationModel[]): string {
  const routes = operations.map(({ name, method, path, fields, status, response, paged, idempotent }) => {
    const namesOf = (isChosen: (field: Field) => boolean) => fields.filter(isChosen).map((field) => field.name)
    const int64s = namesOf(({ schema }) => isInt64(itemOf(resolve(schema, components))))
    const body = namesOf(({ parts }) => parts.includes('body'))
    const query = namesOf(({ parts }) => parts.includes('query'))
    const required = namesOf((field) => field.required)
    const lists = Object.entries({ body, query, required, int64s }).filter(([, names]) => names.length > 0)
    const lines = [
      `method: '${method}', path: ${literal(path)}`,
      ...lists.map(([key, names]) => `${key}: [${names.map(literal).join(', ')}]`),
      `status: ${status}${response ? `, returns: '${resolve(response, components).type}'` : ''}`,
      ...(paged ? ['paged: true'] : []),
      ...(idempotent ? [] : ['idempotent: false']),
    ]
    return `  ${name}: {\n${lines.map((line) => `    ${line},\n`).join('')}  },\n`
  })
  const names = operations.map(({ name }) => literal(name)).join(' | ')
  return [
    "import type { Route } from '../wire/request.ts'\n",
    `/** The name of an operation. */\nexport type OperationName = ${names}\n`,
    `/** How to send each operation. */\nexport const routes: Record<OperationName, Route> = {\n${routes.join('')}}\n`,
  ].join('\n')
}

function itemOf(schema: JsonSchema): JsonSchema {
  return schema.items ?? schema
}
