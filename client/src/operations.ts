import type { OperationErrors, OperationResponses, Operations, PagedOperationName } from './generated/operations.ts'
import type { Result } from './results.ts'

// Mapped over the keys of `Operations`, so that each operation keeps its doc comment and the names of its parameters.

type Data<TName extends keyof Operations> = Awaited<ReturnType<Operations[TName]>>

/** The operations, with errors returned instead of thrown. */
export type SafeOperations = {
  [TName in keyof Operations]: (
    ...parameters: Parameters<Operations[TName]>
  ) => Promise<Result<Data<TName>, OperationErrors[TName]>>
}

/** The operations, with the status and headers of the response. */
export type RawOperations = {
  [TName in keyof Operations]: (...parameters: Parameters<Operations[TName]>) => Promise<OperationResponses[TName]>
}

/** The paged operations, as loops over all items. */
export type IterateOperations = {
  [TName in keyof Pick<Operations, PagedOperationName>]: (
    ...parameters: Parameters<Operations[TName]>
  ) => Data<TName> extends readonly (infer TItem)[] ? AsyncGenerator<TItem, void, undefined> : never
}
