import { type CallResponse, prepareCall, sendCall } from './call.ts'
import { MalformedResponseError, type ResponseHead, redact } from './errors.ts'
import type { OperationErrors, OperationResponses, Operations, PagedOperationName } from './generated/operations.ts'
import { type OperationName, routes } from './generated/routes.ts'
import { type CallOptions, type ClientOptions, readCallOptions, readClientOptions, type Settings } from './options.ts'
import { cursorOf, nextCursor, setParameter } from './wire/request.ts'

/**
 * A client of the plant store. An operation that is called directly returns its data and throws a `PlantStoreError`.
 * Operations can be destructured.
 */
export interface PlantStoreClient extends Operations {
  /**
   * The operations, never throwing: they return `{ ok: true, data }` or `{ ok: false, error }`.
   *
   * @example
   * const result = await client.safe.createPlant({ id: 1, name: 'Ficus' })
   * if (!result.ok && result.error.kind === 'timeout') showRetryButton()
   */
  readonly safe: SafeOperations

  /**
   * The operations, returning the status, headers and request id of the response with the data.
   *
   * @example
   * const { data, requestId, nextCursor } = await client.raw.getPlants({ limit: 20 })
   */
  readonly raw: RawOperations

  /**
   * The paged operations as loops. A page is fetched when the loop reaches it; the default `limit` is 100. A second loop over
   * the same result starts again.
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
  for (const operation of Object.keys(routes) as OperationName[]) {
    const call = async (parameters: unknown[]): Promise<CallResponse> =>
      sendCall(prepareCall(operation, parameters, settings))
    const { paged } = routes[operation]
    direct[operation] = async (...parameters) => (await call(parameters)).data
    safe[operation] = (...parameters) =>
      call(parameters).then(
        ({ data }) => ({ ok: true, data }),
        (error: unknown) => ({ ok: false, error }),
      )
    raw[operation] = async (...parameters) => {
      const response = await call(parameters)
      const result = { data: response.data, ...response.head, attempts: response.call.attempts }
      return paged ? { ...result, nextCursor: nextPage(response, new Set()) } : result
    }
    if (!paged) continue
    iterate[operation] = (...parameters) => {
      const start = () => iteratePages(operation, parameters, settings)
      let unused = start()
      return Object.assign(unused, {
        // The first loop continues after `next`, and each one after it starts again.
        [Symbol.asyncIterator]() {
          const pages = unused
          unused = start()
          return pages
        },
      })
    }
  }
  const withOptions = (options: CallOptions): PlantStoreClient => createClient(readCallOptions(options, settings))
  return { ...direct, safe, raw, iterate, withOptions } as unknown as PlantStoreClient
}

/**
 * Returns the cursor of the next page; undefined if this is the last page.
 *
 * @param seen the cursors of the pages before
 * @throws MalformedResponseError if the link leads to another place, which is not followed, or to one of these pages
 */
function nextPage({ head, call }: CallResponse, seen: Set<string | undefined>): string | undefined {
  const link = head.headers.get('link')
  const next = nextCursor(link, call.url)
  seen.add(cursorOf(call.url))
  if (next === undefined || (next !== '' && !seen.has(next))) return next
  throw new MalformedResponseError(redact(`with an invalid link to the next page: ${link}`, call), head, call)
}

/** Iterates over the items of a paged operation. It fetches a page when the previous one has been consumed. */
async function* iteratePages(
  operation: OperationName,
  parameters: readonly unknown[],
  settings: Settings,
): AsyncGenerator<unknown, void, undefined> {
  const call = prepareCall(operation, parameters, settings)
  const seen = new Set<string | undefined>()
  let url = /[?&]limit=/.test(call.url) ? call.url : setParameter(call.url, 'limit', '100')
  for (;;) {
    const page = await sendCall({ ...call, url })
    yield* page.data as unknown[]
    const cursor = nextPage(page, seen)
    if (cursor === undefined) return
    url = setParameter(url, 'cursor', cursor)
  }
}
