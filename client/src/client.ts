// Everything that this file exports is public: `index.ts` exports all of it.
import { sendCall } from './attempts.ts'
import { prepareCall } from './call.ts'
import type { PlantStoreError, ResponseHead } from './errors.ts'
import type { ConditionalOperationName, Operations, PagedOperationName } from './generated/operations.ts'
import { type OperationName, routes } from './generated/routes.ts'
import type { CallOptions, ClientOptions } from './options.ts'
import { mergeOptions, readClientOptions, type Settings } from './settings.ts'
import type { Fields, Route } from './wire/request.ts'
import { type CallResponse, readCursor, requireData } from './wire/response.ts'

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
   * earlier response in the header `If-None-Match`, they return `notModified: true` and no data where it is the same.
   *
   * @example
   * const { data, notModified, nextCursor } = await client.raw.getPlants({ limit: 20 })
   */
  readonly raw: RawOperations

  /**
   * The paged operations as loops, from `cursor` on, if there is one. A page is fetched when the loop reaches it; the
   * default `limit` is 100. An abort throws in the loop. A second loop over the same result starts again.
   *
   * @example
   * const plants = client.iterate.getPlants({ limit: 500, cursor: await loadCursor() })
   * for await (const plant of plants) console.log(plant.name)
   * await saveCursor(plants.endCursor)
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

/** The result of a `safe` call that succeeded. */
export interface Success<TData> extends Pick<ResponseHead, 'status' | 'requestId'> {
  readonly ok: true
  readonly data: TData
  readonly notModified?: undefined
  readonly error?: undefined
}

/**
 * The result of a `safe` call that failed. The status and request id are those of the error response, if there was one.
 */
export interface Failure extends Partial<Pick<ResponseHead, 'status' | 'requestId'>> {
  readonly ok: false
  readonly error: PlantStoreError
  readonly data?: undefined
  readonly notModified?: undefined
  readonly nextCursor?: undefined
  readonly endCursor?: undefined
}

/** The result of a `raw` call: the data, and what came with it. */
export interface RawResponse<TData> extends ResponseHead {
  readonly data: TData
  readonly notModified?: undefined
  /** How many requests were sent, 1 or more. */
  readonly attempts: number
}

/** The result of a `raw` or `safe` call whose `If-None-Match` has the tag of the response: what the app has is the same. */
export type NotModified<TResult> = Omit<TResult, 'data' | 'notModified'> & {
  readonly notModified: true
  readonly data?: undefined
}

/** What the result of a paged operation has besides. */
export interface Page {
  /** The `cursor` of the next page; undefined if nothing follows this one yet. */
  readonly nextCursor: string | undefined
  /** The `cursor` of what follows this page, now or later; undefined without `limit` and `cursor`. */
  readonly endCursor: string | undefined
}

/** The items of all pages, for `for await`. */
export interface Items<TItem> extends AsyncIterable<TItem> {
  /**
   * The `cursor` of what follows the pages that the last loop has consumed, so that another loop goes on there, now or
   * later. A page that a loop has left is not consumed.
   */
  readonly endCursor: string | undefined
}

// Mapped over the keys of `Operations`, so that each operation keeps its doc comment and the names of its parameters.

type Data<TName extends keyof Operations> = Awaited<ReturnType<Operations[TName]>>
type Face<TName extends keyof Operations, TResult> = (...parameters: Parameters<Operations[TName]>) => TResult
type Paged<TName, TResult> = TName extends PagedOperationName ? TResult & Page : TResult
type Whole<TName, TResult> = TName extends ConditionalOperationName ? TResult | NotModified<TResult> : TResult

/** The operations, with errors returned instead of thrown. */
export type SafeOperations = {
  [TName in keyof Operations]: Face<TName, Promise<Whole<TName, Paged<TName, Success<Data<TName>>>> | Failure>>
}

/** The operations, with the status and headers of the response. */
export type RawOperations = {
  [TName in keyof Operations]: Face<TName, Promise<Whole<TName, Paged<TName, RawResponse<Data<TName>>>>>>
}

/** The paged operations, as loops over all items. */
export type IterateOperations = {
  [TName in keyof Pick<Operations, PagedOperationName>]: Face<
    TName,
    Data<TName> extends readonly (infer TItem)[] ? Items<TItem> : never
  >
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
    const send = async (input: unknown[], page?: Fields) => sendCall(prepareCall(operation, input, settings, page))
    direct[operation] = async (...parameters) => requireData(await send(parameters)).data
    const sendRaw = async (...parameters: unknown[]) => {
      const response = await send(parameters)
      const { head, call, data } = response
      const links = paged && { nextCursor: readCursor(response, 'next'), endCursor: readCursor(response, 'end') }
      return { notModified: head.status === 304 || undefined, data, ...head, attempts: call.attempts, ...links }
    }
    raw[operation] = sendRaw
    safe[operation] = (...parameters) =>
      sendRaw(...parameters).then(
        ({ headers: _, attempts: __, retryAfterMs: ___, ...result }) => ({ ok: true, ...result }),
        (error) => ({ ok: false, error, status: error.status, requestId: error.requestId }),
      )
    if (!paged) continue
    iterate[operation] = (...parameters) => iteratePages(parameters[0], (page) => send(parameters, page))
  }
  const withOptions = (options: CallOptions): PlantStoreClient => createClient(mergeOptions(options, settings, ''))
  return { ...direct, safe, raw, iterate, withOptions } as unknown as PlantStoreClient
}

/**
 * Returns the items of a paged operation. A page is fetched when the previous one has been consumed.
 *
 * @param send sends the call of a page, with fields that replace those of the input
 */
function iteratePages(input: unknown, send: (page: Fields) => Promise<CallResponse>): Items<unknown> {
  const items = {
    endCursor: undefined as string | undefined,
    async *[Symbol.asyncIterator]() {
      let { limit = 100, cursor } = Object(input)
      const cursors = new Set()
      do {
        cursors.add(cursor)
        items.endCursor = cursor
        const page = requireData(await send({ limit, cursor }))
        yield* page.data as unknown[]
        items.endCursor = readCursor(page, 'end')
        cursor = readCursor(page, 'next', cursors)
      } while (cursor !== undefined)
    },
  }
  return items
}
