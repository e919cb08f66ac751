import { comment } from './comment.ts'
import type { Description, OperationDescription } from './document.ts'
import { capitalized, inputName, typeReference } from './types.ts'

/** Names that the client itself uses; with `then`, a client would be awaited like a promise. */
const reservedNames = ['safe', 'raw', 'iterate', 'withOptions', 'then']

/** Generates the list of operations, from which `src/operations.ts` derives the other ways to call them. */
export function generateOperations({ operations }: Description): string {
  for (const { name, paged, response } of operations) {
    if (reservedNames.includes(name)) throw new Error(`${name}: the SDK uses this name; rename the operation`)
    if (paged && response.type !== 'array') throw new Error(`${name}: only a list can be paged`)
  }
  const methods = operations.map(generateMethod)
  const errors = operations.map(({ name }) => `  ${name}: ${errorName(name)}\n`)
  const paged = operations.filter((operation) => operation.paged)
  return [
    ...operations.map(generateErrorType),
    `/** Every operation, as it is called directly. */\nexport interface Operations {\n${methods.join('\n')}}\n`,
    `/** The errors of each operation. */\nexport interface OperationErrors {\n${errors.join('')}}\n`,
    `/** The operations that return pages. */\nexport type PagedOperationName = ${union(paged.map(quotedName))}\n`,
  ].join('\n')
}

/** Generates the names of the operations. */
export function generateOperationName({ operations }: Description): string {
  return `/** The name of an operation. */\nexport type OperationName = ${union(operations.map(quotedName))}\n`
}

function generateErrorType({ name, declaredErrors }: OperationDescription): string {
  return (
    `/** Every error of \`${name}\`. Switch on \`kind\`. */\n` +
    `export type ${errorName(name)} =\n` +
    `  | DeclaredError<${union(declaredErrors.map(String))}>\n  | UndeclaredError\n  | TransportError\n`
  )
}

function errorName(operation: string): string {
  return `${capitalized(operation)}Error`
}

function generateMethod(operation: OperationDescription): string {
  const { name, description, response } = operation
  const documentation = comment(`${description}\n\nErrors: \`${errorName(name)}\`.`, '  ')
  const data = typeReference(response, `${name}: its response`)
  return `${documentation}  ${name}(${parameters(operation)}): Promise<${data}>\n`
}

/** Lists path parameters, body, query and options, in this order, each only if the operation has it. */
function parameters(operation: OperationDescription): string {
  const { name, pathParameters, body, query } = operation
  const list: string[] = []
  if (pathParameters) list.push(`path: ${inputName(operation, 'Path')}`)
  if (body) list.push(`body: ${typeReference(body, `${name}: its body`)}`)
  if (query) list.push(`query${query.required?.length ? '' : '?'}: ${inputName(operation, 'Query')}`)
  return [...list, 'options?: CallOptions'].join(', ')
}

function quotedName({ name }: OperationDescription): string {
  return `'${name}'`
}

function union(members: readonly string[]): string {
  return members.length > 0 ? members.join(' | ') : 'never'
}
