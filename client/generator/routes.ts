/** Generates the route table, which is data. */
import { type Field, fieldsOf, int64sOf, type OperationModel } from './model.ts'

/** Generates how to send each operation. */
export function generateRoutes(operations: readonly OperationModel[]): string {
  const routes = operations.map(({ name, method, path, fields, status, response, paged, idempotent }) => {
    const namesOf = (isChosen: (field: Field) => boolean) => fields.filter(isChosen).map((field) => field.name)
    const route = {
      method,
      path,
      inPath: namesOf(({ parts }) => parts.includes('path') && !parts.includes('body')),
      query: namesOf(({ parts }) => parts.includes('query')),
      body: namesOf(({ parts }) => parts.includes('body')),
      required: namesOf((field) => field.required),
      nullable: namesOf(({ schema }) => schema.isNullable === true),
      int64s: int64sOf(fields),
      status,
      returns: response?.type,
      paged: paged || undefined,
      idempotent: idempotent && undefined,
    }
    const values = Object.entries(route).map(([key, value]) => [key, JSON.stringify(value)])
    const own = values.filter(([, text]) => text !== undefined && text !== '[]')
    const lines = own.map(([key, text]) => `    ${key}: ${text},\n`)
    const dataInt64s = response && int64sOf(fieldsOf(response))
    if (dataInt64s) lines.push(`    parse: (text) => readJson(text, ${JSON.stringify(dataInt64s)}),\n`)
    return `  ${name}: {\n${lines.join('')}  },\n`
  })
  const hasReader = routes.some((route) => route.includes('readJson('))
  const names = operations.map(({ name }) => `'${name}'`).join(' | ')
  return [
    `${hasReader ? "import { readJson } from '../wire/json.ts'\n" : ''}import type { Route } from '../wire/request.ts'\n`,
    `/** The name of an operation. */\nexport type OperationName = ${names}\n`,
    `/** How to send each operation. */\nexport const routes: Record<OperationName, Route> = {\n${routes.join('')}}\n`,
  ].join('\n')
}
