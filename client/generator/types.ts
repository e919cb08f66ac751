/** Generates the types of an SDK, and of its operations. */
import { readFileSync } from 'node:fs'
import type { JsonSchema } from '@plant-store/contract/openapi'
import {
  type Components,
  collectParts,
  fieldsOf,
  isInt64,
  type OperationModel,
  reject,
  targetOf,
  valuesOf,
} from './model.ts'
import { capitalized, comment, literal, propertyName, union } from './typescript.ts'

const index = readFileSync(new URL('../src/index.ts', import.meta.url), 'utf8')
/** The names that `src/index.ts` exports, apart from the generated ones. A generated type of one of them would be lost. */
const LIBRARY_NAMES: readonly string[] = index.match(/\b[A-Z]\w+/g) ?? []
/** Names that the generated code uses itself, or that would hide those of JavaScript. */
const OTHER_NAMES = [
  ...['OperationErrors', 'OperationRequests', 'OperationResponses', 'Operations', 'PagedOperationName'],
  ...['Array', 'BigInt', 'Boolean', 'Date', 'Number', 'Object', 'Promise', 'Record', 'String', 'Symbol'],
]

/**
 * Whether a value is written or read: an int64 that is read is a `bigint`; one that is written may be a safe `number`.
 */
type Direction = 'request' | 'response'

/** A type with a name. */
interface NamedType {
  readonly name: string
  readonly documentation: string
  readonly schema: JsonSchema
  readonly direction: Direction
}

/** What an operation takes and returns, in TypeScript. */
interface Signature {
  readonly operation: OperationModel
  readonly parameters: string
  readonly request: string
  readonly responses: readonly { readonly status: number; readonly type: string }[]
}

/** Generates a type for each component, what each operation takes and returns, and the operations. */
export function generateTypes(components: Components, operations: readonly OperationModel[]) {
  const sent = operations.flatMap((each) => [each.body, each.pathParameters, each.query, each.headers])
  const received = operations.flatMap(({ responses }) => responses.map(({ schema }) => schema))
  const [written, read] = [collectParts(sent, components), collectParts(received, components)]
  const types: NamedType[] = Object.entries(components).flatMap(nameComponent)
  const signatures = operations.map(sign)
  rejectDuplicates([...types.map(({ name }) => name), ...operations.map(errorName)])
  return { types: types.map(declare).join('\n'), operations: generateOperations(signatures) }

  function nameComponent([name, schema]: [string, JsonSchema]): NamedType[] {
    const documentation = documentationOf(schema)
    const direction = written.has(schema) && !read.has(schema) ? 'request' : 'response'
    const named: NamedType[] = [{ name: typeName(name), documentation, schema, direction }]
    if (needsInput(schema)) {
      const text = `${documentation}\n\nAs it is sent: an integer may also be a safe \`number\`.`.trim()
      named.push({ name: `${typeName(name)}Input`, documentation: text, schema, direction: 'request' })
    }
    return named
  }

  /** A component has a type of its own for requests only if the type for responses does not fit. */
  function needsInput(schema: JsonSchema): boolean {
    return written.has(schema) && read.has(schema) && [...collectParts([schema], components)].some(isInt64)
  }

  function sign(operation: OperationModel): Signature {
    const { name, pathParameters, body, query, headers, responses } = operation
    const bodyType = body && nameContent(`${capitalized(name)}Body`, `The body of \`${name}\`.`, body, 'request')
    const request = [
      ...signParameters(name, 'path', 'path parameters', pathParameters),
      ...(bodyType ? [`body: ${bodyType}`] : []),
      ...signParameters(name, 'query', 'query', query),
      ...signParameters(name, 'headers', 'headers', headers),
    ]
    const results = responses.map(({ status, schema }) => {
      const type = `${capitalized(name)}Response${responses.length > 1 ? status : ''}`
      return {
        status,
        type: schema ? nameContent(type, `A response of \`${name}\`.`, schema, 'response') : 'undefined',
      }
    })
    return {
      operation,
      parameters: [...request, 'options?: CallOptions'].join(', '),
      request: `{ ${request.map((part) => part.replace('?', '')).join('; ')} }`,
      responses: results,
    }
  }

  /** Writes the parameters of one place as one parameter of the method, which can be omitted if all of them can. */
  function signParameters(operation: string, place: string, words: string, schema: JsonSchema | undefined): string[] {
    if (!schema) return []
    const name = capitalized(operation) + capitalized(place)
    types.push({ name, documentation: `The ${words} of \`${operation}\`.`, schema, direction: 'request' })
    return [`${place}${schema.required?.length ? '' : '?'}: ${name}`]
  }

  /** Writes the type of a body or response, which gets a name if it is neither a component nor a list of one. */
  function nameContent(name: string, documentation: string, schema: JsonSchema, direction: Direction): string {
    if (!needsName(schema)) return write(schema, direction)
    types.push({ name, documentation, schema, direction })
    return name
  }

  function declare({ name, documentation, schema, direction }: NamedType): string {
    const isInterface = schema.type === 'object' && !schema.additionalProperties
    const start = isInterface ? `interface ${name}` : `type ${name} =`
    return `${comment(documentation || name, '')}export ${start} ${write(schema, direction)}\n`
  }

  function write(schema: JsonSchema, direction: Direction): string {
    const { $ref, anyOf, type = '', items, additionalProperties } = schema
    if ($ref !== undefined) {
      const [name, target] = [targetOf($ref), components[targetOf($ref)]]
      return typeName(name) + (direction === 'request' && target && needsInput(target) ? 'Input' : '')
    }
    if (anyOf) return union(anyOf.map((member) => write(member, direction)))
    const values = valuesOf(schema)
    if (values) return union(values.map(literal))
    if (items) return writeList(write(items, direction), direction)
    if (additionalProperties) return `{ [name: string]: ${write(additionalProperties, direction)} }`
    if (type === 'object') return writeObject(schema, direction)
    if (isInt64(schema)) return direction === 'response' ? 'bigint' : 'number | bigint'
    return type === 'integer' ? 'number' : type
  }

  function writeObject(object: JsonSchema, direction: Direction): string {
    const fields = fieldsOf(object).map(({ name, required, schema }) => {
      const documentation = documentationOf(schema)
      const field = `${propertyName(name)}${required ? '' : '?'}: ${write(schema, direction)}${required ? '' : ' | undefined'}`
      return `${documentation && comment(documentation, '')}${field}\n`.replace(/^(?=.)/gm, '  ')
    })
    return `{\n${fields.join('')}}`
  }
}

/** Generates the list of operations, from which `src/client.ts` derives the other ways to call them. */
function generateOperations(signatures: readonly Signature[]): string {
  const operations = signatures.map(({ operation }) => operation)
  const responses = signatures.map(({ operation: { name, paged }, responses }) => {
    const types = responses.map(({ status, type }) => `${paged ? 'RawPage' : 'RawResponse'}<${type}, ${status}>`)
    return `  ${name}: ${union(types)}\n`
  })
  const requests = signatures.map(({ operation: { name }, request }) => `  ${name}: ${request}\n`)
  const errors = operations.map((operation) => `  ${operation.name}: ${errorName(operation)}\n`)
  const paged = operations.filter((operation) => operation.paged)
  return [
    ...operations.map(generateErrorType),
    `/** Every operation, as it is called directly. */\nexport interface Operations {\n${signatures.map(generateMethod).join('\n')}}\n`,
    `/** What each operation takes. */\nexport interface OperationRequests {\n${requests.join('')}}\n`,
    `/** The responses of each operation, as \`raw\` returns them. */\nexport interface OperationResponses {\n${responses.join('')}}\n`,
    `/** The errors of each operation. */\nexport interface OperationErrors {\n${errors.join('')}}\n`,
    `/** The operations that return pages. */\nexport type PagedOperationName = ${union(paged.map(({ name }) => literal(name)))}\n`,
  ].join('\n')
}

function generateErrorType(operation: OperationModel): string {
  return (
    `/** Every error of \`${operation.name}\`. Switch on \`kind\`. */\nexport type ${errorName(operation)} =\n` +
    `  | DeclaredError<${union(operation.declaredErrors.map(String))}>\n  | UndeclaredError\n  | TransportError\n`
  )
}

function generateMethod({ operation, parameters, responses }: Signature): string {
  const { name, description, idempotent, deprecated } = operation
  const documentation = [
    description,
    !idempotent && 'The client retries it only if it certainly was not processed.',
    `Errors: \`${errorName(operation)}\`.`,
    deprecated && '@deprecated',
  ]
  const text = comment(documentation.filter(Boolean).join('\n\n'), '  ')
  return `${text}  ${name}(${parameters}): Promise<${union(responses.map(({ type }) => type))}>\n`
}

function errorName({ name }: OperationModel): string {
  return `${capitalized(name)}Error`
}

function needsName(schema: JsonSchema): boolean {
  if (schema.items) return needsName(schema.items)
  return Boolean(schema.anyOf || valuesOf(schema)) || schema.type === 'object'
}

/** Returns the TypeScript name of a component. */
function typeName(name: string): string {
  if (!/^[A-Z]\w*$/.test(name)) reject(name, 'a component has a name such as NewPlant; change its .meta({ id })')
  // `Error` would hide JavaScript's own.
  return name === 'Error' ? 'ErrorBody' : name
}

function rejectDuplicates(names: readonly string[]): void {
  for (const [index, name] of names.entries()) {
    if (LIBRARY_NAMES.includes(name) || OTHER_NAMES.includes(name)) {
      reject(name, 'the SDK or JavaScript uses this name; change a .meta({ id }) or the name of the operation')
    }
    if (names.indexOf(name) !== index) {
      reject(name, 'two types have this name; change a .meta({ id }) or the name of the operation')
    }
  }
}

function writeList(item: string, direction: Direction): string {
  const list = / \| /.test(item) || item.startsWith('readonly') ? `(${item})[]` : `${item}[]`
  return direction === 'request' ? `readonly ${list}` : list
}

/** Writes the doc comment of a value: description, format, default, example and deprecation. */
function documentationOf({ title = '', description = title, ...json }: JsonSchema): string {
  const format = json.type === 'string' && json.format !== undefined && `Format: ${json.format}.`
  const tags = [
    json.default !== undefined && `@default ${JSON.stringify(json.default)}`,
    json.examples && `@example ${JSON.stringify(json.examples[0])}`,
    json.deprecated && '@deprecated',
  ]
  return [[description, format].filter(Boolean).join(' '), ...tags].filter(Boolean).join('\n\n')
}
