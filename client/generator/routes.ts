import type { Description, OperationDescription } from './description.ts'
import { generateReader } from './readers.ts'
import { generateImports, literal } from './typescript.ts'
import { generateBodyWriter, generateParametersWriter } from './writers.ts'

const modules = {
  '../not-processed.ts': ['wasNotProcessed'],
  '../wire/fields.ts': ['each', 'fields', 'headerText'],
  '../wire/read.ts': ['readAny', 'readList', 'readNothing', 'readObject'],
  '../wire/read-exactly.ts': ['exactly'],
  '../wire/write-json.ts': ['list', 'object', 'quoted', 'record', 'union'],
  '../wire/write-scalar.ts': ['boolean', 'int64', 'integer', 'number', 'oneOf', 'text'],
}

/** Generates the route table. */
export function generateRoutes(description: Description): string {
  const { operations } = description
  const names = operations.map(({ name }) => `'${name}'`).join(' | ') || 'never'
  const routes = operations.map((operation) => generateRoute(operation, description)).join('')
  return [
    `${generateImports(routes, modules)}import type { Route } from '../wire/route.ts'\n`,
    `/** The name of an operation. */\nexport type OperationName = ${names}\n`,
    '/** How to send each operation, and how the service may respond. */\n' +
      `export const routes: Record<OperationName, Route> = {\n${routes}}\n`,
  ].join('\n')
}

function generateRoute(operation: OperationDescription, { components }: Description): string {
  const { name, method, path, parameters, body, responses, declaredErrors, paged, idempotent } = operation
  const readers = responses.map(({ status, schema }) => {
    return `${status}: ${generateReader(schema, components, `${name}: response ${status}`)}`
  })
  const write = (place: 'path' | 'query' | 'header') =>
    parameters[place].length > 0 && generateParametersWriter(parameters[place], place, components)
  const fields = {
    method: literal(method),
    path: literal(path),
    pathParameters: write('path'),
    body: body && generateBodyWriter(body, components),
    query: write('query'),
    headers: write('header'),
    responses: `{ ${readers.join(', ')} }`,
    paged,
    canRetry: idempotent ? undefined : 'wasNotProcessed',
    declaredErrors: `[${declaredErrors.join(', ')}]`,
  }
  const lines = Object.entries(fields).map(([key, value]) => (value ? `    ${key}: ${value},\n` : ''))
  return `  ${name}: {\n${lines.join('')}  },\n`
}
