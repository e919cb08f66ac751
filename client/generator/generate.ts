import { errorCatalogue, errorMessages, limits } from '@plant-store/contract'
import { readContract } from './model.ts'
import { generateRequests } from './requests.ts'
import { generateRoutes } from './routes.ts'
import { comment, generateTypes } from './types.ts'

const header = '// Generated from the contract by `npm run generate`. Do not edit.\n\n'

/** Generates the SDK files of a contract, by name. */
export function generate(contract: Record<string, unknown>): Record<string, string> {
  const { operations, components } = readContract(contract)
  const { types, operations: calls } = generateTypes(components, operations)
  return {
    'error-codes.ts': header + generateErrorCodes(),
    'operations.ts': header + calls,
    'requests.ts': header + generateRequests(operations),
    'routes.ts': header + generateRoutes(operations),
    'types.ts': header + types,
  }
}

function generateErrorCodes(): string {
  const entries = Object.entries(errorCatalogue)
  const codes = entries.map(([name, { code, reason }]) => `${comment(reason, '  ')}  ${name}: ${code},\n`)
  const reasons = Object.fromEntries(entries.map(([name, { reason }]) => [name, reason]))
  return [
    '/** The codes of the error catalogue, by name: compare the `code` of an `ApiError` with them. */\n',
    `export const errorCodes = {\n${codes.join('')}} as const\n\n`,
    '/** The name of an error code. */\nexport type ErrorName = keyof typeof errorCodes\n\n',
    '/** An error code. */\nexport type ErrorCode = (typeof errorCodes)[ErrorName]\n\n',
    '/** What each error code means. */\n',
    `export const errorReasons: Record<ErrorName, string> = ${JSON.stringify(reasons, null, 2)}\n\n`,
    `/** The messages of the service. */\nexport const errorMessages = ${JSON.stringify(errorMessages, null, 2)}\n\n`,
    `/** The limits of the service. */\nexport const limits = ${JSON.stringify(limits)}\n`,
  ].join('')
}
