import type { Model, OperationModel, ResponseModel } from './model.ts'
import { bodyOf, contentOf, errorName, parametersName, type Types } from './types.ts'
import { comment, literal, union } from './typescript.ts'

/** Generates the list of operations, from which `src/results.ts` derives the other ways to call them. */
export function generateOperations({ operations }: Model, types: Types): string {
  const methods = operations.map((operation) => generateMethod(operation, types))
  const responses = operations.map((operation) => `  ${operation.name}: ${rawResponse(operation, types)}\n`)
  const errors = operations.map((operation) => `  ${operation.name}: ${errorName(operation)}\n`)
  const paged = operations.filter((operation) => operation.paged)
  return [
    ...operations.map(generateErrorType),
    `/** Every operation, as it is called directly. */\nexport interface Operations {\n${methods.join('\n')}}\n`,
    `/** The responses of each operation, as \`raw\` returns them. */\nexport interface OperationResponses {\n${responses.join('')}}\n`,
    `/** The errors of each operation. */\nexport interface OperationErrors {\n${errors.join('')}}\n`,
    `/** The operations that return pages. */\nexport type PagedOperationName = ${union(paged.map(({ name }) => literal(name)))}\n`,
  ].join('\n')
}

function generateErrorType(operation: OperationModel): string {
  const { name, declaredErrors } = operation
  return (
    `/** Every error of \`${name}\`. Switch on \`kind\`. */\n` +
    `export type ${errorName(operation)} =\n` +
    `  | DeclaredError<${union(declaredErrors.map(String))}>\n  | UndeclaredError\n  | TransportError\n`
  )
}

function generateMethod(operation: OperationModel, types: Types): string {
  const { name, description, idempotent, deprecated, responses } = operation
  const documentation = [
    description,
    !idempotent && 'It is retried only if the service certainly did not process it, because it is not safe to repeat.',
    `Errors: \`${errorName(operation)}\`.`,
    deprecated && '@deprecated',
  ]
  const data = union(responses.map((response) => writeData(operation, response, types)))
  const text = comment(documentation.filter(Boolean).join('\n\n'), '  ')
  return `${text}  ${name}(${listParameters(operation, types)}): Promise<${data}>\n`
}

function rawResponse(operation: OperationModel, types: Types): string {
  const type = operation.paged ? 'RawPage' : 'RawResponse'
  return union(
    operation.responses.map((response) => `${type}<${writeData(operation, response, types)}, ${response.status}>`),
  )
}

function writeData(operation: OperationModel, response: ResponseModel, types: Types): string {
  const content = contentOf(operation, response)
  return content ? types.write(content) : 'undefined'
}

/** Lists path parameters, body, query, headers and options, in this order, each only if the operation has it. */
function listParameters(operation: OperationModel, types: Types): string {
  const { parameters } = operation
  const list: string[] = []
  const body = bodyOf(operation)
  if (parameters.path.length > 0) list.push(`path: ${parametersName(operation, 'path')}`)
  if (body) list.push(`body: ${types.write(body)}`)
  for (const place of ['query', 'header'] as const) {
    const fields = parameters[place]
    if (fields.length === 0) continue
    const isRequired = fields.some(({ required }) => required)
    list.push(`${place === 'query' ? 'query' : 'headers'}${isRequired ? '' : '?'}: ${parametersName(operation, place)}`)
  }
  return [...list, 'options?: CallOptions'].join(', ')
}
