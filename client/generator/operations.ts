import { comment } from './comment.ts'
import type { Description, OperationDescription } from './document.ts'
import { capitalized, inputName, typeReference } from './types.ts'

/** What the client has beside the operations, and what an operation can therefore not be called. */
const reservedNames = ['safe', 'raw', 'iterate', 'withOptions', 'then']

/** The faces of every operation. */
export function generateOperations({ operations }: Description): string {
  for (const { name } of operations) {
    if (reservedNames.includes(name)) throw new Error(`${name}: the SDK has this name itself; rename the operation`)
  }
  const paged = operations.filter((operation) => operation.paged)
  return [
    `/** The name of an operation. */\nexport type OperationName = ${union(operations.map(({ name }) => `'${name}'`))}\n`,
    ...operations.map(errorType),
    face(
      'DirectOperations',
      'Every operation: it resolves to its answer and throws every failure.',
      operations,
      direct,
    ),
    face('SafeOperations', 'Every operation: it never throws, and a failure is a value.', operations, safe),
    face('RawOperations', 'Every operation, with the status and the headers beside the data.', operations, raw),
    face('IterateOperations', 'Every operation that pages, as a loop over all that it lists.', paged, iterate),
  ].join('\n')
}

function errorType({ name, declaredErrors }: OperationDescription): string {
  return (
    `/** Everything that can go wrong with \`${name}\`. Switch on \`kind\`. */\n` +
    `export type ${errorName(name)} =\n` +
    `  | DeclaredError<${union(declaredErrors.map(String))}>\n  | UndeclaredError\n  | TransportError\n`
  )
}

function errorName(operation: string): string {
  return `${capitalized(operation)}Error`
}

type Signature = (operation: OperationDescription) => { description: string; parameters: string; result: string }

function face(name: string, description: string, operations: readonly OperationDescription[], of: Signature): string {
  const methods = operations.map((operation) => {
    const { description, parameters, result } = of(operation)
    return `${comment(description, '  ')}  ${operation.name}(${parameters}): ${result}\n`
  })
  return `${comment(description, '')}export interface ${name} {\n${methods.join('\n')}}\n`
}

function direct(operation: OperationDescription): ReturnType<Signature> {
  return {
    description: `${operation.description}\n\n@throws {PlantStoreError} Whatever goes wrong: see \`${errorName(operation.name)}\`.`,
    parameters: parameters(operation),
    result: `Promise<${answer(operation)}>`,
  }
}

function safe(operation: OperationDescription): ReturnType<Signature> {
  return {
    description: `${operation.description}\n\nNever throws: a failure is \`{ ok: false, error }\`.`,
    parameters: parameters(operation),
    result: `Promise<Result<${answer(operation)}, ${errorName(operation.name)}>>`,
  }
}

function raw(operation: OperationDescription): ReturnType<Signature> {
  return {
    description: `${operation.description}\n\nThe answer comes with its status and headers. Throws as the direct call does.`,
    parameters: parameters(operation),
    result: `Promise<${operation.paged ? 'RawPage' : 'RawAnswer'}<${answer(operation)}>>`,
  }
}

function iterate(operation: OperationDescription): ReturnType<Signature> {
  if (operation.response.type !== 'array') throw new Error(`${operation.name}: only a list can be paged`)
  return {
    description:
      `${operation.description}\n\nA page is fetched when the loop reaches it; where the loop ends, nothing more is ` +
      `fetched. Without \`limit\`, pages of 100. Throws inside the loop, as the direct call does.`,
    parameters: parameters(operation),
    result: `AsyncGenerator<${answer(operation).replace(/\[\]$/, '')}, void, undefined>`,
  }
}

/** Path parameters, body, query, options: in this order, each where the operation has it. */
function parameters(operation: OperationDescription): string {
  const { name, pathParameters, body, query } = operation
  const list: string[] = []
  if (pathParameters) list.push(`path: ${inputName(operation, 'Path')}`)
  if (body) list.push(`body: ${typeReference(body, `${name}: its body`)}`)
  if (query) list.push(`query${query.required?.length ? '' : '?'}: ${inputName(operation, 'Query')}`)
  return [...list, 'options?: CallOptions'].join(', ')
}

function answer({ name, response }: OperationDescription): string {
  return typeReference(response, `${name}: its answer`)
}

function union(members: readonly string[]): string {
  return members.length > 0 ? members.join(' | ') : 'never'
}
