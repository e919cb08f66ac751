import type { ResponseHead } from './errors.ts'
import type { OperationErrors, OperationResponses, Operations, PagedOperationName } from './generated/operations.ts'

/**
 * The result of a `safe` call.
 *
 * @example
 * const { ok, data, error } = await client.safe.createPlant({ id: 1, name: 'Ficus' })
 * if (ok) console.log(data.name)
 * else console.error(error.kind)
 */
export type Result<TData, TError> =
  | { readonly ok: true; readonly data: TData; readonly error?: never }
  | { readonly ok: false; readonly error: TError; readonly data?: never }

/** The result of a `raw` call: the data, and what came with it. */
export interface RawResponse<TData, TStatus extends number = number> extends ResponseHead {
  readonly data: TData
  readonly status: TStatus
  /** How many requests were sent, 1 or more. */
  readonly attempts: number
}

/** The result of a `raw` call of a paged operation. */
export interface RawPage<TData, TStatus extends number = number> extends RawResponse<TData, TStatus> {
  /** The `cursor` of the next page; undefined on the last page. */
  readonly nextCursor: string | undefined
}

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
