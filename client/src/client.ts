// Everything that this file exports is public: `index.ts` exports all of it.
import { type Call, type CallResponse, prepareCall, sendCall } from './call.ts'
import { MalformedResponseError, type PlantStoreError, type ResponseHead } from './errors.ts'
import type { Operations, PagedOperationName } from './generated/operations.ts'
import { type OperationName, routes } from './generated/routes.ts'
import { type CallOptions, type ClientOptions, mergeOptions, readClientOptions, type Settings } from './options.ts'
import { orUndefined } from './values.ts'
import type { Fields, Route } from './wire/request.ts'

/**
 * A client of the plant store. An operation that is called directly returns its data and throws a `PlantStoreError`.
 * Operations can be destructured.
 */
export interface PlantStoreClient extends Operations {
  /**
   * The operations, never throwing: they return `{ ok: true, data }` or `{ ok: false, error }`,
   * with the status and request id.
   *
   * @example
   * const result = await client.safe.createPlant({ id: 1, name: 'Ficus' })
   * if (!result.ok && result.error.kind === 'timeout') showRetryButton()
   */
  readonly safe: SafeOperations

  /**
   * The operations, returning the status, headers and request id of the response with the data. With the `etag` of an
   * earlier response in the header `If-None-Match`, the status is 304 and the data undefined where it is still the same.
   *
   * @example
   * const { data, requestId, nextCursor } = await client.raw.getPlants({ limit: 20 })
   */
  readonly raw: RawOperations

  /**
   * The paged operations as loops. A page is fetched when the loop reaches it; the default `limit` is 100. An abort
   * throws in the loop. A second loop over the same result starts again.
   *
   * @example
   * for await (const plant of client.iterate.getPlants({ limit: 500 })) console.log(plant.name)
   */
  readonly iterate: IterateOperations

  /**
   * Creates a client with some options replaced. This client does not change.
   *
   * @example
   * const patient = client.withOptions({ timeout: 120_000, retries: 5 })
   */
  withOptions(options: CallOptions): PlantStoreClient
}

/**
 * The result of a `safe` call.
 *
 * @example
 * const { ok, data, error } = await client.safe.createPlant({ id: 1, name: 'Ficus' })
 * if (ok) console.log(data.name)
 * else console.error(error.kind)
 */
export type Result<TData> = Success<TData> | Failure

/** The result of a `safe` call of a paged operation. */
export type PageResult<TData> = (Success<TData> & Page) | Failure

/** The result of a `safe` call that succeeded. */
export interface Success<TData> extends Pick<ResponseHead, 'status' | 'requestId'> {
  readonly ok: true
  readonly data: TData
  readonly error?: undefined
}

/**
 * The result of a `safe` call that failed. The status and request id are those of the error response, if there was one.
 */
export interface Failure extends Partial<Pick<ResponseHead, 'status' | 'requestId'>> {
  readonly ok: false
  readonly error: PlantStoreError
  readonly data?: undefined
  readonly nextCursor?: undefined
}

/** The result of a `raw` call: the data, and what came with it. */
export interface RawResponse<TData> extends ResponseHead {
  readonly data: TData
  /** How many requests were sent, 1 or more. */
  readonly attempts: number
}

/** What the result of a paged operation has besides. */
export interface Page {
  /** The `cursor` of the next page; undefined on the last page. */
  readonly nextCursor: string | undefined
}

// Mapped over the keys of `Operations`, so that each operation keeps its doc comment and the names of its parameters.

type Data<TName extends keyof Operations> = Awaited<ReturnType<Operations[TName]>>

/** The operations, with errors returned instead of thrown. */
export type SafeOperations = {
  [TName in keyof Operations]: (
    ...parameters: Parameters<Operations[TName]>
  ) => Promise<TName extends PagedOperationName ? PageResult<Data<TName>> : Result<Data<TName>>>
}

/** The operations, with the status and headers of the response. */
export type RawOperations = {
  [TName in keyof Operations]: (
    ...parameters: Parameters<Operations[TName]>
  ) => Promise<TName extends PagedOperationName ? RawResponse<Data<TName>> & Page : RawResponse<Data<TName>>>
}

/** The paged operations, as loops over all items. */
export type IterateOperations = {
  [TName in keyof Pick<Operations, PagedOperationName>]: (
    ...parameters: Parameters<Operations[TName]>
  ) => Data<TName> extends readonly (infer TItem)[] ? AsyncIterable<TItem> : never
}

type Functions = Partial<Record<OperationName, (...parameters: unknown[]) => unknown>>

/**
 * Creates a client of the plant store. It sends nothing until an operation is called, and holds no connection.
 *
 * @throws {UsageError} An option is invalid: the message names it.
 *
 * @example
 * const client = createPlantStoreClient({ baseUrl: 'https://example.com', token: 'pst_...' })
 * const plant = await client.createPlant({ id: 9007199254740993n, name: 'Monstera', tag: 'aroid' })
 * const plants = await client.getPlants()
 */
export function createPlantStoreClient(options: ClientOptions = {}): PlantStoreClient {
  return createClient(readClientOptions(options))
}

function createClient(settings: Settings): PlantStoreClient {
  const direct: Functions = {}
  const safe: Functions = {}
  const raw: Functions = {}
  const iterate: Functions = {}
  for (const [operation, { paged }] of Object.entries(routes) as [OperationName, Route][]) {
    const prepare = (parameters: unknown[], page?: Fields) => prepareCall(operation, parameters, settings, page)
    const send = async (...parameters: unknown[]) => sendCall(prepare(parameters))
    const sendRaw = async (...parameters: unknown[]) => {
      const response = await send(...parameters)
      const next = paged && nextCursor(response, new Set([Object(parameters[0]).cursor]))
      return { data: response.data, ...response.head, attempts: response.call.attempts, nextCursor: next }
    }
    direct[operation] = async (...parameters) => requireData(await send(...parameters)).data
    raw[operation] = sendRaw
    safe[operation] = (...parameters) =>
      sendRaw(...parameters).then(
        ({ headers: _, attempts: __, retryAfterMs: ___, ...result }) => ({ ok: true, ...result }),
        (error) => ({ ok: false, error, status: error.status, requestId: error.requestId }),
      )
    if (!paged) continue
    iterate[operation] = (...parameters) => ({
      [Symbol.asyncIterator]: () => iteratePages((page) => prepare(parameters, page), parameters[0]),
    })
  }
  const withOptions = (options: CallOptions): PlantStoreClient => createClient(mergeOptions(options, settings, ''))
  return { ...direct, safe, raw, iterate, withOptions } as unknown as PlantStoreClient
}

/**
 * Iterates over the items of a paged operation. It fetches a page when the previous one has been consumed.
 *
 * @param prepare prepares the call of a page, with fields that replace those of the input
 */
async function* iteratePages(
  prepare: (page: Fields) => Call,
  input: unknown,
): AsyncGenerator<unknown, void, undefined> {
  prepare({})
  let { limit = 100, cursor } = Object(input)
  const cursors = new Set([cursor])
  do {
    const page = requireData(await sendCall(prepare({ limit, cursor })))
    yield* page.data as unknown[]
    cursor = nextCursor(page, cursors)
    cursors.add(cursor)
  } while (cursor !== undefined)
}

/** Rejects the 304 of a caller that has the data, and asks with a method that returns nothing else. */
function requireData(response: CallResponse): CallResponse {
  const { head, call } = response
  if (head.status !== 304) return response
  throw new MalformedResponseError('a 304 for your If-None-Match, which raw and safe return', head, call)
}

/**
 * Returns the cursor of the next page; undefined if this is the last page.
 *
 * The target of `rel="next"` in the header `Link` (RFC 8288) is read as text, since React
 * Native's `URL` does not parse a query.
 *
 * @param earlier the cursors of this page, and of those before it
 * @throws {MalformedResponseError} if the link has no cursor, or one of these
 */
function nextCursor({ head, call }: CallResponse, earlier: ReadonlySet<unknown>): string | undefined {
  const link = head.headers.get('link') ?? ''
  // No two parts match the same characters, which would take quadratic time.
  const [, target] = /<([^<>]*)>[^<]*;\s*rel\s*=([^,;]*[\s"])?next(?![^\s",;])/i.exec(link) ?? []
  if (target === undefined) return undefined
  const [, text = ''] = /^[^#]*?[?&]cursor=([^&#]*)/.exec(target) ?? []
  const cursor = orUndefined(() => decodeURIComponent(text.replaceAll('+', ' ')))
  if (cursor && !earlier.has(cursor)) return cursor
  throw new MalformedResponseError(`an invalid link: ${link}`, head, call)
}
