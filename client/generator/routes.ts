import type { Description, OperationDescription } from './document.ts'
import { generateShape, refuseInt64 } from './shapes.ts'

/** The route table. */
export function generateRoutes({ operations, schemas }: Description): string {
  const routes = operations.map((operation) => generateRoute(operation, schemas))
  return (
    '/** How each operation is sent and what it may answer. */\n' +
    `export const routes: Record<OperationName, Route> = {\n${routes.join('')}}\n`
  )
}

function generateRoute(operation: OperationDescription, schemas: Description['schemas']): string {
  const { name, method, path, pathParameters, body, query, response, declaredErrors } = operation
  refuseInt64(response, schemas, `${name}: its answer`)
  const fields = [`method: '${method}'`, `path: '${path}'`]
  for (const [key, schema] of Object.entries({ pathParameters, body, query })) {
    if (schema) fields.push(`${key}: ${generateShape(schema, schemas, `${name}: ${key}`)}`)
  }
  fields.push(`answer: '${response.type === 'array' ? 'list' : 'object'}'`)
  if (operation.paged) fields.push('paged: true')
  fields.push(`declaredErrors: [${declaredErrors.join(', ')}]`)
  return `  ${name}: {\n${fields.map((field) => `    ${field},\n`).join('')}  },\n`
}
