/** Generates the types of an SDK, and of its operations. */
import { rejectContract } from '@plant-store/contract/openapi'
import { type Field, fieldsOf, int64sOf, isInt64, type OperationModel, type Schema } from './model.ts'

/** What `src/index.ts` exports by name, which would hide a type. Any other name that is taken does not compile. */
const EXPORTED = ['ErrorCode', 'ErrorName', 'InvalidId', 'OperationName']

/** What the SDK does, unlike the service. */
const ONLY_KNOWN = 'Another field is an error of the SDK.'

/** Generates a type for each component and input, and the operations. */
export function generateTypes(components: Readonly<Record<string, Schema>>, operations: readonly OperationModel[]) {
  const declared = new Map<string, string>()
  const sent = new Set(operations.map(({ body }) => body?.component))
  const received = new Set(operations.map(({ response }) => (response?.items ?? response)?.component))
  for (const [name, schema] of Object.entries(components)) {
    const [fields, isSent] = [fieldsOf(schema), sent.has(name)]
    // It is sent as a number or a text too, and received as a bigint.
    if (isSent && received.has(name) && int64sOf(fields) !== undefined)
      rejectContract(name, 'is sent and received, and has an int64; use a schema with another id for one of them')
    declare(typeName(name), `${schema.description ?? name}${isSent ? ` ${ONLY_KNOWN}` : ''}`, fields, isSent)
  }
  const methods = operations.map(generateMethod)
  const names = [...declared.keys()].sort().join(', ')
  const namesOf = (chosen: readonly OperationModel[]) => chosen.map(({ name }) => `'${name}'`).join(' | ') || 'never'
  return {
    types: [...declared.values()].join('\n'),
    operations: [
      `import type { CallOptions } from '../options.ts'\nimport type { ${names} } from './types.ts'\n`,
      `/** Every operation, as it is called directly. */\nexport interface Operations {\n${methods.join('\n')}}\n`,
      `/** The operations that return pages. */\nexport type PagedOperationName = ${namesOf(operations.filter(({ paged }) => paged))}\n`,
      `/** The operations that may respond 304 to a condition. */\nexport type ConditionalOperationName = ${namesOf(operations.filter(({ conditional }) => conditional))}\n`,
    ].join('\n'),
  }

  function declare(name: string, documentation: string, fields: readonly Field[], isSent: boolean): void {
    if (declared.has(name) || EXPORTED.includes(name))
      rejectContract(name, 'this name is taken; change a .meta({ id }) or the name of the operation')
    declared.set(name, `${comment(documentation, '')}export interface ${name} ${writeFields(fields, isSent)}\n`)
  }

  function generateMethod(operation: OperationModel): string {
    const { name, description, idempotent, fields, response } = operation
    const isOptional = !fields.some(({ required }) => required)
    const retries = idempotent ? '' : '\n\nThe client retries it only if it certainly was not processed.'
    const text = comment(description + retries, '  ')
    const parameters = `input${isOptional ? '?' : ''}: ${nameInput(operation)}, options?: CallOptions`
    return `${text}  ${name}(${parameters}): Promise<${response ? write(response, false) : 'undefined'}>\n`
  }

  /** Names the type of an input: that of the body, if it has nothing else, so that more fields may come. */
  function nameInput({ name, fields, body }: OperationModel): string {
    if (body?.component && fields.every(({ parts }) => parts.includes('body'))) return typeName(body.component)
    const input = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input`
    declare(input, `The input of \`${name}\`. ${ONLY_KNOWN}`, fields, true)
    return input
  }

  function write(schema: Schema, isSent: boolean): string {
    const { component, items, type = '', isNullable, ...own } = schema
    if (isNullable) return `${write({ ...own, type }, isSent)} | null`
    if (component !== undefined) return typeName(component)
    if (items) return `${write(items, isSent)}[]`
    if (isInt64(schema)) return isSent ? 'bigint | number | string' : 'bigint'
    if (type === 'object') return writeFields(fieldsOf(schema), isSent)
    return type === 'integer' ? 'number' : type
  }

  function writeFields(fields: readonly Field[], isSent: boolean): string {
    const lines = fields.map(({ name, required, schema }) => {
      const field = `${name}${required ? '' : '?'}: ${write(schema, isSent)}${required ? '' : ' | undefined'}`
      return `${comment(documentationOf(schema, isSent), '')}${field}\n`.replace(/^(?=.)/gm, '  ')
    })
    return `{\n${lines.join('')}}`
  }
}

/** Returns the TypeScript name of a component. */
function typeName(name: string): string {
  if (!/^[A-Z]\w*$/.test(name))
    rejectContract(name, 'a component has a name such as NewPlant; change its .meta({ id })')
  // `Error` would hide JavaScript's own.
  return name === 'Error' ? 'ErrorBody' : name
}

/** Writes the doc comment of a field: description, format and example. */
function documentationOf({ description, type, format, examples }: Schema, isSent: boolean): string {
  const parts = [
    description,
    isSent && format === 'int64' && 'The SDK takes a bigint, a safe integer, or decimal digits as text.',
    type === 'string' && format !== undefined && `Format: ${format}.`,
    examples && `@example ${JSON.stringify(examples[0])}`,
  ]
  return parts.filter(Boolean).join('\n\n')
}

/** Formats a JSDoc comment, with line breaks; none for an empty text. */
export function comment(text: string, indent: string): string {
  if (text === '') return ''
  // Up to the width, or a longer word.
  const part = new RegExp(`.{1,${115 - indent.length}}( |$)|\\S+ ?`, 'g')
  const lines = text.split('\n').flatMap((line) => line.replaceAll('*/', '*\\/').match(part) ?? [''])
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join('\n')}\n${indent} */\n`
}
