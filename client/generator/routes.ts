import type { Description, OperationDescription } from './document.ts'
import { generateOperationName } from './operations.ts'
import { generateShape, rejectInt64 } from './shapes.ts'

/** Generates the route table. */
export function generateRoutes(description: Description): string {
  const { operations, schemas } = description
  const routes = operations.map((operation) => generateRoute(operation, schemas))
  return (
    `${generateOperationName(description)}\n` +
    '/** How to send each operation, and how the service may respond. */\n' +
    `export const routes: Record<OperationName, Route> = {\n${routes.join('')}}\n`
  )
}

function generateRoute(operation: OperationDescription, schemas: Description['schemas']): string {
  const { name, method, path, pathParameters, body, query, response, declaredErrors } = operation
  rejectInt64(response, schemas, `${name}: its response`)
  const fields = [`method: '${method}'`, `path: '${path}'`]
  for (const [key, schema] of Object.entries({ pathParameters, body, query })) {
    if (schema) fields.push(`${key}: ${generateShape(schema, schemas, `${name}: ${key}`)}`)
  }
  fields.push(`response: '${response.type === 'array' ? 'list' : 'object'}'`)
  if (operation.paged) fields.push('paged: true')
  fields.push(`declaredErrors: [${declaredErrors.join(', ')}]`)
  return `  ${name}: {\n${fields.map((field) => `    ${field},\n`).join('')}  },\n`
}
