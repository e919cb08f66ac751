/** Generates the route table, which is data. */
import type { Components } from '@plant-store/contract/openapi'
import type { Int64s } from '../src/wire/json.ts'
import { type Field, int64sOf, type OperationModel, resolve } from './model.ts'
import { literal, propertyName } from './typescript.ts'

/** Generates how to send each operation. */
export function generateRoutes(components: Components, operations: readonly OperationModel[]): string {
  const routes = operations.map(({ name, method, path, fields, status, response, paged, idempotent }) => {
    const namesOf = (isChosen: (field: Field) => boolean) => fields.filter(isChosen).map((field) => field.name)
    const properties = Object.fromEntries(fields.map((field) => [field.name, field.schema]))
    const int64s = int64sOf({ type: 'object', properties }, components)
    const dataInt64s = response && int64sOf(response, components)
    const body = namesOf(({ parts }) => parts.includes('body'))
    const query = namesOf(({ parts }) => parts.includes('query'))
    const required = namesOf((field) => field.required)
    const inPath = namesOf(({ parts }) => parts.includes('path') && !parts.includes('body'))
    const lists = Object.entries({ inPath, body, query, required }).filter(([, names]) => names.length > 0)
    const lines = [
      `method: '${method}', path: ${literal(path)}`,
      ...lists.map(([key, names]) => `${key}: [${names.map(literal).join(', ')}]`),
      ...(int64s ? [`int64s: ${writeInt64s(int64s)}`] : []),
      `status: ${status}${response ? `, returns: '${resolve(response, components).type}'` : ''}`,
      ...(dataInt64s ? [`parse: (text) => readJson(text, ${writeInt64s(dataInt64s)})`] : []),
      ...(paged ? ['paged: true'] : []),
      ...(idempotent ? [] : ['idempotent: false']),
    ]
    return `  ${name}: {\n${lines.map((line) => `    ${line},\n`).join('')}  },\n`
  })
  const hasReader = routes.some((route) => route.includes('readJson('))
  const names = operations.map(({ name }) => literal(name)).join(' | ')
  return [
    `${hasReader ? "import { readJson } from '../wire/json.ts'\n" : ''}import type { Route } from '../wire/request.ts'\n`,
    `/** The name of an operation. */\nexport type OperationName = ${names}\n`,
    `/** How to send each operation. */\nexport const routes: Record<OperationName, Route> = {\n${routes.join('')}}\n`,
  ].join('\n')
}

function writeInt64s(int64s: Int64s): string {
  if (int64s === true) return 'true'
  const fields = Object.entries(int64s).map(([name, own]) => `${propertyName(name)}: ${writeInt64s(own)}`)
  return `{ ${fields.join(', ')} }`
}
