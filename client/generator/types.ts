/** Generates the types of an SDK, and of its operations. */
import { readFileSync } from 'node:fs'
import { rejectContract } from '@plant-store/contract/openapi'
import { componentsOf, type Field, fieldsOf, int64sOf, isInt64, type OperationModel, type Schema } from './model.ts'
import { comment, literal, propertyName } from './typescript.ts'

const ownFiles = 'client errors options values generated/error-codes generated/operations generated/routes'.split(' ')
/** What `src/index.ts` exports, apart from the types that are generated here. */
const exported = ownFiles.map((name) => readFileSync(new URL(`../src/${name}.ts`, import.meta.url), 'utf8')).join('')

/** What the SDK does, unlike the service. */
const ONLY_KNOWN = 'Another field is an error of the SDK.'

/** Generates a type for each component and input, and the operations. */
export function generateTypes(components: Readonly<Record<string, Schema>>, operations: readonly OperationModel[]) {
  const declared = new Map<string, string>()
  const inputs = operations.flatMap(({ body, fields }) => [body ?? [], fields.map(({ schema }) => schema)].flat())
  const sent = new Set(inputs.flatMap(componentsOf))
  const received = new Set(operations.flatMap(({ response = {} }) => componentsOf(response)))
  for (const [name, schema] of Object.entries(components)) {
    const [own, isSent] = [typeName(name), sent.has(name)]
    // It is sent as a number or a text too, and received as a bigint.
    if (isSent && received.has(name) && int64sOf(schema) !== undefined)
      rejectContract(name, 'is sent and received, and has an int64; use a schema with another id for one of them')
    const start = schema.type === 'object' ? `interface ${own}` : `type ${own} =`
    const isInput = operations.some(({ body }) => body?.component === name)
    const documentation = [schema.description ?? name, isInput && ONLY_KNOWN].filter(Boolean).join(' ')
    declare(own, documentation, `${start} ${write(schema, isSent)}`)
  }
  const methods = operations.map(generateMethod)
  const names = [...declared.keys()].sort().join(', ')
  const namesOf = (chosen: readonly OperationModel[]) => chosen.map(({ name }) => literal(name)).join(' | ') || 'never'
  return {
    types: [...declared.values()].join('\n'),
    operations: [
      `import type { CallOptions } from '../options.ts'\nimport type { ${names} } from './types.ts'\n`,
      `/** Every operation, as it is called directly. */\nexport interface Operations {\n${methods.join('\n')}}\n`,
      `/** The operations that return pages. */\nexport type PagedOperationName = ${namesOf(operations.filter(({ paged }) => paged))}\n`,
      `/** The operations that may respond 304 to a condition. */\nexport type ConditionalOperationName = ${namesOf(operations.filter(({ conditional }) => conditional))}\n`,
    ].join('\n'),
  }

  function declare(name: string, documentation: string, code: string): void {
    if (declared.has(name) || new RegExp(`^export \\w+ ${name}\\b`, 'm').test(exported)) {
      rejectContract(name, 'this name is taken; change a .meta({ id }) or the name of the operation')
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
    const base = body?.component && typeName(body.component)
    const own = fields.filter(({ parts }) => base === undefined || !parts.includes('body'))
    if (base !== undefined && own.length === 0) return base
    const input = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input`
    const start = `interface ${input}${base === undefined ? '' : ` extends ${base}`}`
    declare(input, `The input of \`${name}\`. ${ONLY_KNOWN}`, `${start} ${writeFields(own, true)}`)
    return input
  }

  function write(schema: Schema, isSent: boolean): string {
    const { component, enum: values, items, type = '', isNullable, ...own } = schema
    if (isNullable) return `${write({ ...own, type }, isSent)} | null`
    if (component !== undefined) return typeName(component)
    if (values) return values.map(literal).join(' | ')
    if (items) return `${write(items, isSent).replace(/^.* \| .*$/, '($&)')}[]`
    if (isInt64(schema)) return isSent ? 'bigint | number | string' : 'bigint'
    if (type === 'object') return writeFields(fieldsOf(schema), isSent)
    return type === 'integer' ? 'number' : type
  }

  function writeFields(fields: readonly Field[], isSent: boolean): string {
    const lines = fields.map(({ name, required, schema }) => {
      // A list may be one that the app cannot change.
      const type = `${schema.items ? 'readonly ' : ''}${write(schema, isSent)}`
      const field = `${propertyName(name)}${required ? '' : '?'}: ${type}${required ? '' : ' | undefined'}`
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

/** Writes the doc comment of a value: description, format, example and deprecation. */
function documentationOf({ description, type, format, examples, deprecated }: Schema, isSent: boolean): string {
  const parts = [
    description,
    isSent && format === 'int64' && 'The SDK takes a bigint, a safe integer, or decimal digits as text.',
    type === 'string' && format !== undefined && `Format: ${format}.`,
    examples && `@example ${JSON.stringify(examples[0])}`,
    deprecated && '@deprecated',
  ]
  return parts.filter(Boolean).join('\n\n')
}
