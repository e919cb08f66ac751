export * from './client.ts'
export * from './errors.ts'
export { type ErrorCode, type ErrorName, errorCodes } from './generated/error-codes.ts'
// `export type *`, so that the types of an operation added to the contract are exported too.
export type * from './generated/operations.ts'
export type { OperationName } from './generated/routes.ts'
export type * from './generated/types.ts'
export type * from './options.ts'
export { type InvalidId, parseId } from './values.ts'
