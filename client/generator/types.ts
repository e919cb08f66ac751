import { compile, type JSONSchema } from 'json-schema-to-typescript'
import type { Description, JsonSchema, OperationDescription } from './document.ts'

/** Returns the TypeScript name of a component. `Error` would shadow JavaScript's own. */
function componentName(reference: string): string {
  const name = reference.slice(reference.lastIndexOf('/') + 1)
  return name === 'Error' ? 'ErrorBody' : name
}

/** Returns the name of the type of an operation's path parameters or query. */
export function inputName({ name }: OperationDescription, input: 'Path' | 'Query'): string {
  return `${capitalized(name)}${input}`
}

/** Turns `createPlant` into `CreatePlant`. */
export function capitalized(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}

/** Returns the type of a body: a component, or a list of one. */
export function typeReference(schema: JsonSchema, place: string): string {
  if (schema.$ref) return componentName(schema.$ref)
  if (schema.type === 'array' && schema.items?.$ref) return `${componentName(schema.items.$ref)}[]`
  throw new Error(`${place}: must be a component or a list of one; name its schema with .meta({ id })`)
}

/** Generates an interface for each component, query and set of path parameters. */
export async function generateTypes({ schemas, operations }: Description): Promise<string> {
  const named = Object.entries(schemas).map(([name, schema]) => ({ name: componentName(name), schema }))
  for (const operation of operations) {
    const { name, pathParameters, query } = operation
    if (pathParameters) {
      const schema = { ...pathParameters, description: `The path parameters of \`${name}\`.` }
      named.push({ name: inputName(operation, 'Path'), schema })
    }
    if (query) {
      named.push({
        name: inputName(operation, 'Query'),
        schema: { ...query, description: `The query of \`${name}\`.` },
      })
    }
  }
  const interfaces = await Promise.all(named.map(generateInterface))
  return interfaces.join('\n')
}

async function generateInterface({ name, schema }: { name: string; schema: JsonSchema }): Promise<string> {
  return await compile(annotated(schema) as JSONSchema, name, {
    additionalProperties: false,
    bannerComment: '',
    style: { printWidth: 120, semi: false, singleQuote: true },
  })
}

/** Adds what json-schema-to-typescript does not know: int64, other components, `undefined`, examples. */
function annotated(schema: JsonSchema): object {
  const description = documentation(schema)
  if (schema.$ref) return { tsType: componentName(schema.$ref) }
  if (schema.format === 'int64') return { description, tsType: 'number | bigint' }
  if (schema.items) return { ...schema, description, items: annotated(schema.items) }
  if (!schema.properties) return { ...schema, description }
  const properties = Object.entries(schema.properties).map(([name, property]) => [
    name,
    schema.required?.includes(name) ? annotated(property) : orUndefined(property),
  ])
  return { ...schema, description, properties: Object.fromEntries(properties) }
}

function orUndefined(schema: JsonSchema): object {
  const { description: _, ...type } = annotated(schema) as { description?: string }
  return { description: documentation(schema), anyOf: [type, { tsType: 'undefined' }] }
}

function documentation({ description = '', examples }: JsonSchema): string {
  return examples ? `${description}\n\n@example ${JSON.stringify(examples[0])}` : description
}
