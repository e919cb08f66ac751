import { readFileSync } from 'node:fs'
import {
  type Components,
  ERROR,
  type Field,
  type Model,
  type OperationModel,
  type ParameterPlace,
  partsOf,
  type ResponseModel,
  reject,
  type Schema,
  schemasOfRequest,
  schemasOfResponse,
} from './model.ts'
import { capitalized, comment, literal, propertyName, union } from './typescript.ts'

const index = readFileSync(new URL('../src/index.ts', import.meta.url), 'utf8')
/** The names that `src/index.ts` exports, apart from the generated ones. A generated type of one of them would be lost. */
const LIBRARY_NAMES: readonly string[] = index.match(/\b[A-Z]\w+/g) ?? []
/** Names that the generated code uses itself, or that would hide those of JavaScript. */
const OTHER_NAMES = [
  ...['ErrorBody', 'OperationErrors', 'OperationResponses', 'Operations', 'PagedOperationName'],
  ...['Array', 'BigInt', 'Boolean', 'Date', 'Number', 'Object', 'Promise', 'Record', 'String', 'Symbol'],
]

/**
 * Whether a value is written or read: an int64 that is read is a `bigint`; one that is written may be a safe `number`.
 */
export type Direction = 'request' | 'response'

/** A type with a name. */
interface NamedType {
  readonly name: string
  readonly documentation: string
  readonly schema: Schema
  readonly direction: Direction
}

/** The types of an SDK. */
export interface Types {
  /** Writes the type of a body or a response, by its name if it has one. */
  write(content: Content): string
  /** The declarations of all types with names. */
  readonly text: string
}

/** Returns the name of the type of an operation's parameters. */
export function parametersName({ name }: OperationModel, place: ParameterPlace): string {
  return capitalized(name) + { path: 'Path', query: 'Query', header: 'Headers' }[place]
}

/** What an operation sends or returns. */
export interface Content {
  readonly operation: string
  readonly direction: Direction
  readonly schema: Schema
  /** The status of a response, if the operation has several. */
  readonly status: number | undefined
}

/** Returns the body of an operation, if it has one. */
export function bodyOf({ name, body }: OperationModel): Content | undefined {
  return body && { operation: name, direction: 'request', schema: body, status: undefined }
}

/** Returns the content of a response, if it has any. */
export function contentOf({ name, responses }: OperationModel, response: ResponseModel): Content | undefined {
  const { status, schema } = response
  return schema && { operation: name, direction: 'response', schema, status: responses.length > 1 ? status : undefined }
}

/** Returns the name of the type of an operation's errors. */
export function errorName({ name }: OperationModel): string {
  return `${capitalized(name)}Error`
}

/** Generates a type for each component, and for what each operation takes and returns. */
export function generateTypes({ components, operations }: Model): Types {
  const written = findUsed(operations.flatMap(schemasOfRequest), components)
  const read = findUsed(operations.flatMap(schemasOfResponse), components)
  const types = [
    ...Object.entries(components).flatMap(nameComponent),
    ...operations.flatMap((operation) => [...nameParameters(operation), ...nameContents(operation)]),
  ]
  rejectDuplicates([...types.map(({ name }) => name), ...operations.map(errorName)])
  return { write: writeContent, text: types.map(declare).join('\n') }

  function writeContent(content: Content): string {
    return needsName(content.schema) ? contentName(content) : write(content.schema, content.direction)
  }

  function write(schema: Schema, direction: Direction): string {
    if (schema.kind === 'text') return 'string'
    if (schema.kind === 'boolean') return 'boolean'
    if (schema.kind === 'int64') return direction === 'response' ? 'bigint' : 'number | bigint'
    if (schema.kind === 'literal') return union(schema.values.map(literal))
    if (schema.kind === 'list') return writeList(write(schema.items, direction), direction)
    if (schema.kind === 'record') return `{ [name: string]: ${write(schema.values, direction)} }`
    if (schema.kind === 'union') return union(schema.members.map((member) => write(member, direction)))
    if (schema.kind === 'object') return `{\n${writeFields(schema.fields, direction)}}`
    if (schema.kind === 'component') return direction === 'request' ? inputName(schema.name) : typeName(schema.name)
    return 'number'
  }

  function writeFields(fields: readonly Field[], direction: Direction): string {
    return fields
      .map(({ name, required, documentation, schema }) => {
        const key = propertyName(name) + (required ? '' : '?')
        const type = write(schema, direction) + (required ? '' : ' | undefined')
        const text = `${documentation && comment(documentation, '')}${key}: ${type}\n`
        return text.replace(/^(?=.)/gm, '  ')
      })
      .join('')
  }

  /** A component has a type of its own for requests only if the type for responses does not fit. */
  function inputName(name: string): string {
    return typeName(name) + (needsInput(name) ? 'Input' : '')
  }

  function needsInput(name: string): boolean {
    return written.has(name) && read.has(name) && hasInt64({ kind: 'component', name }, components)
  }

  function nameComponent([name, { documentation, schema }]: [string, Components[string]]): NamedType[] {
    const direction = written.has(name) && !read.has(name) ? 'request' : 'response'
    const named: NamedType[] = [{ name: typeName(name), documentation, schema, direction }]
    if (needsInput(name)) {
      const text = `${documentation}\n\nAs it is sent: an integer may also be a safe \`number\`.`.trim()
      named.push({ name: inputName(name), documentation: text, schema, direction: 'request' })
    }
    return named
  }

  function declare({ name, documentation, schema, direction }: NamedType): string {
    const text = write(schema, direction)
    return (
      comment(documentation || name, '') +
      `export ${schema.kind === 'object' ? `interface ${name}` : `type ${name} =`} ${text}\n`
    )
  }
}

function nameParameters(operation: OperationModel): NamedType[] {
  const places = { path: 'path parameters', query: 'query', header: 'headers' }
  return (Object.entries(places) as [ParameterPlace, string][])
    .filter(([place]) => operation.parameters[place].length > 0)
    .map(([place, words]) => ({
      name: parametersName(operation, place),
      documentation: `The ${words} of \`${operation.name}\`.`,
      schema: { kind: 'object', fields: operation.parameters[place] },
      direction: 'request',
    }))
}

/** Names the bodies and responses that are neither a component nor a list of one. */
function nameContents(operation: OperationModel): NamedType[] {
  const contents = [bodyOf(operation), ...operation.responses.map((response) => contentOf(operation, response))]
  return contents
    .filter((content) => content !== undefined)
    .filter(({ schema }) => needsName(schema))
    .map((content) => {
      const { direction, schema } = content
      const words = direction === 'request' ? 'The body' : 'A response'
      return { name: contentName(content), documentation: `${words} of \`${operation.name}\`.`, schema, direction }
    })
}

function contentName({ operation, direction, status }: Content): string {
  return capitalized(operation) + (direction === 'request' ? 'Body' : `Response${status ?? ''}`)
}

function needsName(schema: Schema): boolean {
  if (schema.kind === 'list') return needsName(schema.items)
  return ['object', 'record', 'union', 'literal'].includes(schema.kind)
}

/** Returns the TypeScript name of a component. `Error` would shadow JavaScript's own. */
function typeName(name: string): string {
  if (name === ERROR) return 'ErrorBody'
  if (!/^[A-Z]\w*$/.test(name)) reject(name, 'a component has a name such as NewPlant; change its .meta({ id })')
  if (name === 'ErrorBody') reject(name, 'the SDK or JavaScript uses this name; change its .meta({ id })')
  return name
}

function rejectDuplicates(names: readonly string[]): void {
  for (const [index, name] of names.entries()) {
    if (LIBRARY_NAMES.includes(name) || (OTHER_NAMES.includes(name) && name !== typeName(ERROR))) {
      reject(name, 'the SDK or JavaScript uses this name; change a .meta({ id }) or the name of the operation')
    }
    if (names.indexOf(name) !== index) {
      reject(name, 'two types have this name; change a .meta({ id }) or the name of the operation')
    }
  }
}

/** Finds the components that schemas use, directly or through others. */
function findUsed(schemas: readonly Schema[], components: Components): Set<string> {
  const used = new Set<string>()
  for (const schema of schemas) visit(schema)
  return used

  function visit(schema: Schema): void {
    for (const part of partsOf(schema)) visit(part)
    if (schema.kind !== 'component' || used.has(schema.name)) return
    used.add(schema.name)
    const component = components[schema.name]
    if (component) visit(component.schema)
  }
}

function hasInt64(schema: Schema, components: Components): boolean {
  const target = schema.kind === 'component' ? components[schema.name]?.schema : undefined
  return (
    schema.kind === 'int64' ||
    [...partsOf(schema), ...(target ? [target] : [])].some((part) => hasInt64(part, components))
  )
}

function writeList(item: string, direction: Direction): string {
  const list = / \| /.test(item) || item.startsWith('readonly') ? `(${item})[]` : `${item}[]`
  return direction === 'request' ? `readonly ${list}` : list
}
