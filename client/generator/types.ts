/** Generates the types of an SDK, and of its operations. */
import { readFileSync } from 'node:fs'
import { type Components, type JsonSchema, reject } from '@plant-store/contract/openapi'
import { addComponents, type Field, int64sOf, isInt64, type OperationModel, resolve, targetOf } from './model.ts'
import { capitalized, comment, literal, propertyName } from './typescript.ts'

const index = readFileSync(new URL('../src/index.ts', import.meta.url), 'utf8')
/** Names that `src/index.ts` exports or the generated code uses. */
const TAKEN_NAMES: readonly string[] = ['Operations', 'PagedOperationName', ...(index.match(/\b[A-Z]\w+/g) ?? [])]

/** What the SDK does, unlike the service. */
const ONLY_KNOWN = 'Another field is an error of the SDK.'

/** Generates a type for each component and input, and the operations. */
export function generateTypes(components: Components, operations: readonly OperationModel[]) {
  const declared = new Map<string, string>()
  const sent = new Set<string>()
  const received = new Set<string>()
  for (const { fields, body, response } of operations) {
    for (const part of [body, ...fields.map(({ schema }) => schema)]) if (part) addComponents(part, components, sent)
    if (response) addComponents(response, components, received)
  }
  for (const [name, schema] of Object.entries(components)) {
    if (!sent.has(name) || isSplit(name)) declareComponent(name, schema, false)
    if (sent.has(name)) declareComponent(name, schema, true)
  }
  const methods = operations.map(generateMethod)
  const paged = operations.filter((operation) => operation.paged).map(({ name }) => literal(name))
  return {
    types: [...declared.values()].join('\n'),
    operations: [
      `/** Every operation, as it is called directly. */\nexport interface Operations {\n${methods.join('\n')}}\n`,
      `/** The operations that return pages. */\nexport type PagedOperationName = ${paged.join(' | ') || 'never'}\n`,
    ].join('\n'),
  }

  /** Whether a component has a type for each direction: an int64 is sent as either, and received as a bigint. */
  function isSplit(name: string): boolean {
    const hasInt64 = int64sOf(components[name] ?? {}, components) !== undefined
    return hasInt64 && sent.has(name) && received.has(name)
  }

  function nameComponent(name: string, isSent: boolean): string {
    return typeName(name) + (isSent && isSplit(name) ? 'Input' : '')
  }

  function declareComponent(name: string, schema: JsonSchema, isSent: boolean): void {
    const own = nameComponent(name, isSent)
    const start = schema.type === 'object' ? `interface ${own}` : `type ${own} =`
    const isInput = isSent && operations.some(({ body }) => body?.$ref !== undefined && targetOf(body.$ref) === name)
    const documentation = [schema.description ?? name, isInput && ONLY_KNOWN].filter(Boolean).join(' ')
    declare(own, documentation, `${start} ${write(schema, isSent)}`)
  }

  function declare(name: string, documentation: string, code: string): void {
    if (TAKEN_NAMES.includes(name) || declared.has(name)) {
      reject(name, 'this name is taken; change a .meta({ id }) or the name of the operation')
    }
    declared.set(name, `${comment(documentation, '')}export ${code}\n`)
  }

  function generateMethod(operation: OperationModel): string {
    const { name, description, idempotent, deprecated, fields, response } = operation
    const isOptional = !fields.some(({ required }) => required)
    const documentation = [
      description,
      !idempotent && 'The client retries it only if it certainly was not processed.',
      deprecated && '@deprecated',
    ]
    const text = comment(documentation.filter(Boolean).join('\n\n'), '  ')
    const parameters = `input${isOptional ? '?' : ''}: ${nameInput(operation)}, options?: CallOptions`
    return `${text}  ${name}(${parameters}): Promise<${response ? write(response, false) : 'undefined'}>\n`
  }

  /** Names the type of an input: that of the body, if it has nothing else, so that more fields may come. */
  function nameInput({ name, fields, body }: OperationModel): string {
    const base = body?.$ref === undefined ? undefined : nameComponent(targetOf(body.$ref), true)
    const own = fields.filter(({ parts }) => base === undefined || !parts.includes('body'))
    if (base !== undefined && own.length === 0) return base
    const input = `${capitalized(name)}Input`
    const start = `interface ${input}${base === undefined ? '' : ` extends ${base}`}`
    declare(input, `The input of \`${name}\`. ${ONLY_KNOWN}`, `${start} ${writeFields(own, true)}`)
    return input
  }

  function write(schema: JsonSchema, isSent: boolean): string {
    const { $ref, enum: values, items, type = '', properties = {}, required = [] } = schema
    if ($ref !== undefined) return nameComponent(targetOf($ref), isSent)
    if (values) return values.map(literal).join(' | ')
    if (items) return `${write(items, isSent).replace(/^.* \| .*$/, '($&)')}[]`
    if (isInt64(schema)) return isSent ? 'number | bigint' : 'bigint'
    if (type !== 'object') return type === 'integer' ? 'number' : type
    const fields = Object.entries(properties).map(([name, part]) => {
      return { name, schema: part, required: required.includes(name) }
    })
    return writeFields(fields, isSent)
  }

  function writeFields(fields: readonly Pick<Field, 'name' | 'required' | 'schema'>[], isSent: boolean): string {
    const lines = fields.map(({ name, required, schema }) => {
      // A list may be one that the app cannot change.
      const type = `${resolve(schema, components).items ? 'readonly ' : ''}${write(schema, isSent)}`
      const field = `${propertyName(name)}${required ? '' : '?'}: ${type}${required ? '' : ' | undefined'}`
      return `${comment(documentationOf(schema), '')}${field}\n`.replace(/^(?=.)/gm, '  ')
    })
    return `{\n${lines.join('')}}`
  }
}

/** Returns the TypeScript name of a component. */
function typeName(name: string): string {
  if (!/^[A-Z]\w*$/.test(name)) reject(name, 'a component has a name such as NewPlant; change its .meta({ id })')
  // `Error` would hide JavaScript's own.
  return name === 'Error' ? 'ErrorBody' : name
}

/** Writes the doc comment of a value: description, format, example and deprecation. */
function documentationOf({ description, type, format, examples, deprecated }: JsonSchema): string {
  const parts = [
    description,
    type === 'string' && format !== undefined && `Format: ${format}.`,
    examples && `@example ${JSON.stringify(examples[0])}`,
    deprecated && '@deprecated',
  ]
  return parts.filter(Boolean).join('\n\n')
}
