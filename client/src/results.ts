import type { ResponseHeaders } from './fetch.ts'

/**
 * What a call through `safe` resolves to.
 *
 * @example
 * const { ok, data, error } = await client.safe.createPlant({ id: 1, name: 'Ficus' })
 * if (ok) console.log(data.name)
 * else console.error(error.kind)
 */
export type Result<TData, TError> =
  | { readonly ok: true; readonly data: TData; readonly error?: never }
  | { readonly ok: false; readonly error: TError; readonly data?: never }

/** What a call through `raw` resolves to. */
export interface RawAnswer<TData> {
  readonly data: TData
  /** The HTTP status, such as 200. */
  readonly status: number
  /** The headers of the answer. */
  readonly headers: ResponseHeaders
  /** The `X-Request-Id` of the answer: names this request in the logs of the server. */
  readonly requestId: string | undefined
  /** How many requests were sent, 1 or more. */
  readonly attempts: number
}

/** What a call through `raw` resolves to where the operation pages. */
export interface RawPage<TData> extends RawAnswer<TData> {
  /** The `cursor` of the next page; undefined on the last one. */
  readonly nextCursor: string | undefined
}
