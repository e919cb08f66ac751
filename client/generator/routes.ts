import type { JsonSchema, Literal } from '@plant-store/contract/openapi'
import { alternativesOf, type Components, fieldsOf, isInt64, type OperationModel, reject, valuesOf } from './model.ts'
import { generateImports, literal, propertyName } from './typescript.ts'

const modules = {
  '../retry.ts': ['wasNotProcessed'],
  '../wire/read.ts': ['readIf', 'readNothing'],
  '../wire/read-exactly.ts': ['exactly'],
  '../wire/write.ts': [
    ...['boolean', 'each', 'fields', 'headerText', 'int64', 'integer', 'isObject', 'kinds', 'list', 'number', 'object'],
    ...['oneOf', 'quoted', 'record', 'text', 'union'],
  ],
}

/** Generates the route table, which composes the writers of each request and the readers of each response. */
export function generateRoutes(components: Components, operations: readonly OperationModel[]): string {
  const routes = operations.map(generateRoute).join('')
  return [
    `${generateImports(routes, modules)}import type { Route } from '../wire/read.ts'\n`,
    `/** The name of an operation. */\nexport type OperationName = ${operations.map(({ name }) => `'${name}'`).join(' | ')}\n`,
    '/** How to send each operation, and how the service may respond. */\n' +
      `export const routes: Record<OperationName, Route> = {\n${routes}}\n`,
  ].join('\n')

  function generateRoute({ name, body, ...operation }: OperationModel): string {
    const readers = operation.responses.map(({ status, schema }) => {
      return `${status}: ${schema ? writeReader(schema, `${name}: response ${status}`) : 'readNothing'}`
    })
    const fields = {
      method: literal(operation.method),
      path: literal(operation.path),
      pathParameters: writeParameters(operation.pathParameters, 'text'),
      body: body && writeBody(body),
      query: writeParameters(operation.query, 'text'),
      headers: writeParameters(operation.headers, 'headerText'),
      responses: `{ ${readers.join(', ')} }`,
      paged: operation.paged,
      canRetry: operation.idempotent ? undefined : 'wasNotProcessed',
      declaredErrors: `[${operation.declaredErrors.join(', ')}]`,
    }
    const lines = Object.entries(fields).map(([key, value]) => (value ? `    ${key}: ${value},\n` : ''))
    return `  ${name}: {\n${lines.join('')}  },\n`
  }

  function writeBody(schema: JsonSchema): string {
    const alternatives = alternativesOf(schema, components)
    const values = alternatives.flatMap((alternative) => valuesOf(alternative) ?? [])
    const texts = values.filter((value) => typeof value === 'string')
    const literals = values.filter((value) => typeof value !== 'string')
    const objects = alternatives.filter(({ properties }) => properties)
    const others = alternatives.filter((alternative) => !valuesOf(alternative) && !objects.includes(alternative))
    const writers = [
      ...others.map(writeAlternative),
      ...(objects.length > 1 ? [writeKinds(objects)] : objects.map(writeAlternative)),
      ...(texts.length > 0 ? [`quoted(${writeLiterals(texts)})`] : []),
      ...(literals.length > 0 ? [writeLiterals(literals)] : []),
    ]
    return writers.length === 1 ? writers.join() : `union(${writers.join(', ')})`
  }

  /** Writes objects that a field with other literals in each tells apart. */
  function writeKinds(objects: readonly JsonSchema[]): string {
    const literalsOf = ({ properties = {} }: JsonSchema, name: string) =>
      alternativesOf(properties[name] ?? {}, components).flatMap((each) => valuesOf(each) ?? [])
    const isKind = (name: string): boolean => {
      const literals = objects.map((each) => literalsOf(each, name))
      return literals.every(({ length }) => length > 0) && new Set(literals.flat()).size === literals.flat().length
    }
    const kind = Object.keys(objects[0]?.properties ?? {}).find(isKind) ?? ''
    const writers = objects.map((each) => `[[${literalsOf(each, kind).map(literal)}], ${writeAlternative(each)}]`)
    return `kinds(${literal(kind)}, ${writers.join(', ')})`
  }

  function writeAlternative(schema: JsonSchema): string {
    const { type, items, additionalProperties } = schema
    if (items) return `list(${writeBody(items)})`
    if (additionalProperties) return `record(${writeBody(additionalProperties)})`
    if (type === 'object') return `object(${writeFields(schema, writeBody)})`
    return type === 'string' ? 'quoted(text)' : scalarOf(schema)
  }

  function writeParameters(parameters: JsonSchema | undefined, text: string): string | undefined {
    return parameters && `fields(${writeFields(parameters, write)})`

    function write(schema: JsonSchema): string {
      const [{ items, ...target } = schema] = alternativesOf(schema, components)
      if (items) return `each(${write(items)})`
      const values = valuesOf(target)
      if (values) return writeLiterals(values)
      return target.type === 'string' ? text : scalarOf(target)
    }
  }

  /** Generates the reader of a response. The service's own form is checked on the outside only, since it may grow. */
  function writeReader(schema: JsonSchema, place: string): string {
    const alternatives = alternativesOf(schema, components)
    const places = writeInt64s([schema], place, components)
    const parse = places === '' ? 'JSON.parse' : `exactly(${places})`
    if (alternatives.every(({ type }) => type === 'array')) return `readIf(Array.isArray, ${parse})`
    return alternatives.every(({ type }) => type === 'object') ? `readIf(isObject, ${parse})` : parse
  }
}

/**
 * Writes where the int64s of a value are, by field; `[]` is each item of a list, and `*` each field of a record. The reader
 * cannot tell alternatives apart before it has read them, so that a place has the same kind of number in all of them.
 */
export function writeInt64s(schemas: readonly JsonSchema[], place: string, components: Components): string {
  const alternatives = schemas.flatMap((schema) => alternativesOf(schema, components))
  const names = alternatives.flatMap(({ items, properties = {}, additionalProperties }) => [
    ...(items ? ['[]'] : []),
    ...Object.keys(properties),
    ...(additionalProperties ? ['*'] : []),
  ])
  const parts = [...new Set(names)].flatMap((name): [string, string][] => {
    const own = alternatives.flatMap(({ items, properties = {}, additionalProperties }) => {
      const part = name === '[]' ? items : (properties[name] ?? additionalProperties)
      return part ? [part] : []
    })
    const text = writeInt64s(own, `${place}.${name}`, components)
    return text ? [[name, text]] : []
  })
  const hasInt64 = alternatives.some(isInt64)
  const isList = parts.some(([name]) => name === '[]')
  const conflicts = hasInt64 ? parts.length > 0 || alternatives.some(isRounded) : isList && parts.length > 1
  if (conflicts) {
    reject(place, 'one alternative of a union has an int64 where another has something else with numbers; use one form')
  }
  if (hasInt64) return "'int64'"
  if (isList) return `[${parts[0]?.[1]}]`
  const fields = parts.map(([name, text]) => `${propertyName(name)}: ${text}`)
  return fields.length > 0 ? `{ ${fields.join(', ')} }` : ''
}

/** Whether a number in JSON is read as a `number`. */
function isRounded(schema: JsonSchema): boolean {
  const types = valuesOf(schema)?.map((value) => typeof value) ?? [schema.type]
  return !isInt64(schema) && types.some((type) => type === 'number' || type === 'integer')
}

function writeLiterals(values: readonly Literal[]): string {
  return `oneOf(${values.map(literal).join(', ')})`
}

/** Names the writer of a number or boolean. */
function scalarOf(schema: JsonSchema): string {
  return isInt64(schema) ? 'int64' : String(schema.type)
}

/** Writes the required and the optional fields, as two arguments. */
function writeFields(object: JsonSchema, write: (schema: JsonSchema) => string): string {
  const fields = fieldsOf(object)
  const entries = (required: boolean): string => {
    const chosen = fields.filter((field) => field.required === required)
    if (chosen.length === 0) return '{}'
    return `{ ${chosen.map(({ name, schema }) => `${propertyName(name)}: ${write(schema)}`).join(', ')} }`
  }
  return fields.every(({ required }) => required) ? entries(true) : `${entries(true)}, ${entries(false)}`
}
