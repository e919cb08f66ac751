import { errorCatalogue, errorMessages } from '@plant-store/contract'
import { createOpenApiDocument, type OpenApiDocument } from '@plant-store/contract/openapi'
import { readOperations } from './model.ts'
import { generateRequests } from './requests.ts'
import { generateRoutes } from './routes.ts'
import { generateTypes } from './types.ts'
import { comment, generateImports, literal } from './typescript.ts'

const header = '// Generated from the contract by `npm run generate`. Do not edit.\n\n'

/** Generates the SDK files of a contract, by name. */
export function generate(operations: Record<string, unknown>): Record<string, string> {
  return generateFrom(createOpenApiDocument({ operations }))
}

/** Generates the SDK files of a document. */
export function generateFrom(document: OpenApiDocument): Record<string, string> {
  const { schemas } = document.components
  const all = readOperations(document)
  const { types, operations } = generateTypes(schemas, all)
  return {
    'error-codes.ts': header + generateErrorCodes(),
    'operations.ts': `${header}${imports(types, operations)}\n${operations}`,
    'requests.ts': header + generateRequests(schemas, all),
    'routes.ts': header + generateRoutes(schemas, all),
    'types.ts': header + types,
  }
}

function generateErrorCodes(): string {
  const entries = Object.entries(errorCatalogue)
  const codes = entries.map(([name, { code, reason }]) => `${comment(reason, '  ')}  ${name}: ${code},\n`)
  const messages = Object.entries(errorMessages).map(([name, text]) => `  ${name}: ${literal(text)},\n`)
  const reasons = entries.map(([name, { reason }]) => `  ${name}:\n    ${JSON.stringify(reason)},\n`)
  return [
    '/** The codes of the error catalogue, by name: compare the `code` of an `ApiError` with them. */\n',
    `export const errorCodes = {\n${codes.join('')}} as const\n\n`,
    '/** The name of an error code. */\nexport type ErrorName = keyof typeof errorCodes\n\n',
    '/** What each error code means. */\n',
    `export const errorReasons: Record<ErrorName, string> = {\n${reasons.join('')}}\n\n`,
    `/** The messages of the service; a name in braces is replaced. */\nexport const errorMessages = {\n${messages.join('')}}\n`,
  ].join('')
}

/** Generates the imports of the operations, with only the generated types that they use. */
function imports(types: string, operations: string): string {
  const names = [...types.matchAll(/^export (?:interface|type) (\w+)/gm)].map(([, name]) => name ?? '')
  return generateImports(operations, {
    '../client.ts': ['RawPage', 'RawResponse'],
    '../errors.ts': ['DeclaredError', 'TransportError', 'UndeclaredError'],
    '../options.ts': ['CallOptions'],
    './types.ts': names.sort(),
  }).replaceAll('import {', 'import type {')
}
