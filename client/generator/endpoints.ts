import { type Components, type Description, type OperationDescription, resolve } from './description.ts'
import { generateReader } from './readers.ts'
import type { Field, Schema } from './schema.ts'
import { generateImports, literal, propertyName } from './typescript.ts'

const modules = {
  '../wire/read-exactly.ts': ['exactly'],
  '../wire/read.ts': ['readAny', 'readList', 'readObject'],
}

/** Generates how a service reads each operation, for the fake: what a client sends, the other way around. */
export function generateEndpoints({ operations, components }: Description): string {
  const endpoints = operations.map((operation) => generateEndpoint(operation, components)).join('')
  return [
    `${generateImports(endpoints, modules)}import type { Endpoint } from '../testing/endpoint.ts'\nimport type { OperationName } from './routes.ts'\n`,
    '/** How a service reads each operation. */\n' +
      `export const endpoints: Record<OperationName, Endpoint> = {\n${endpoints}}\n`,
  ].join('\n')
}

function generateEndpoint({ name, scope, parameters, body }: OperationDescription, components: Components): string {
  const fields = {
    scope: literal(scope),
    body: body && generateReader(body, components, `${name}: body`),
    path: generateParameters(parameters.path, components),
    query: generateParameters(parameters.query, components),
    headers: generateParameters(parameters.header, components),
  }
  const lines = Object.entries(fields).map(([key, value]) => (value ? `    ${key}: ${value},\n` : ''))
  return `  ${name}: {\n${lines.join('')}  },\n`
}

function generateParameters(fields: readonly Field[], components: Components): string | undefined {
  if (fields.length === 0) return undefined
  return `{ ${fields.map(({ name, schema }) => `${propertyName(name)}: ${writeForm(schema, components)}`).join(', ')} }`
}

function writeForm(schema: Schema, components: Components): string {
  const target = resolve(schema, components)
  if (target.kind === 'list') return `[${writeForm(target.items, components)}]`
  if (target.kind !== 'literal') return literal(target.kind)
  const [value] = target.values
  return literal(typeof value === 'string' || value === null ? 'text' : typeof value)
}
