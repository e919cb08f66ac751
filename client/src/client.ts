import { callOperation } from './call.ts'
import { MalformedResponseError, PlantStoreError } from './errors.ts'
import {
  type DirectOperations,
  type IterateOperations,
  type OperationName,
  type RawOperations,
  routes,
  type SafeOperations,
} from './generated/operations.ts'
import { type CallOptions, type ClientOptions, readCallOptions, readClientOptions, type Settings } from './options.ts'
import type { Input } from './request.ts'
import type { RawPage } from './results.ts'

/** Calls the plant store. It keeps no connection and needs no closing. */
export interface PlantStoreClient extends DirectOperations {
  /** The same operations, without throwing: a failure is a value whose type tells what can go wrong. */
  readonly safe: SafeOperations
  /** The same operations, with the status and headers of the answer beside the data. */
  readonly raw: RawOperations
  /** The operations that page, as loops over everything that they list. */
  readonly iterate: IterateOperations
}

const DEFAULT_PAGE_SIZE = 100

/**
 * Makes a client.
 *
 * @throws RequestError where an option is wrong
 *
 * @example
 * const client = createPlantStoreClient({ baseUrl: 'https://plants.example.com', token: 'pst_...' })
 * await client.createPlant({ id: 9007199254740993n, name: 'Monstera', tag: 'aroid' })
 * const plants = await client.getPlants()
 */
export function createPlantStoreClient(options: ClientOptions = {}): PlantStoreClient {
  const settings = readClientOptions(options)
  const raw = face((name, args) => call(name, args, settings))
  const direct = face(async (name, args) => (await call(name, args, settings)).data)
  const safe = face((name, args) => settle(call(name, args, settings)))
  const iterate = face((name, args) => iteratePages(name, args, settings))
  return { ...direct, raw, safe, iterate } as unknown as PlantStoreClient
}

/** An object with a method for every operation. */
function face<T>(run: (name: OperationName, args: readonly unknown[]) => T): Record<string, (...args: unknown[]) => T> {
  const names = Object.keys(routes) as OperationName[]
  return Object.fromEntries(names.map((name) => [name, (...args: unknown[]) => run(name, args)]))
}

async function call(name: OperationName, args: readonly unknown[], client: Settings): Promise<RawPage<unknown>> {
  const { input, options } = readArguments(name, args)
  return callOperation(name, input, readCallOptions(options, client))
}

async function settle(
  answer: Promise<RawPage<unknown>>,
): Promise<{ ok: boolean; data?: unknown; error?: PlantStoreError }> {
  try {
    return { ok: true, data: (await answer).data }
  } catch (error) {
    if (error instanceof PlantStoreError) return { ok: false, error }
    throw error
  }
}

async function* iteratePages(
  name: OperationName,
  args: readonly unknown[],
  client: Settings,
): AsyncGenerator<unknown, void, undefined> {
  const { input, options } = readArguments(name, args)
  const settings = readCallOptions(options, client)
  const query: Record<string, unknown> = { limit: DEFAULT_PAGE_SIZE, ...(input.query as object | undefined) }
  for (;;) {
    const { data, nextCursor, ...answer } = await callOperation(name, { ...input, query }, settings)
    yield* data as unknown[]
    if (nextCursor === undefined) return
    if (nextCursor === query['cursor']) {
      const call = { method: routes[name].method, url: settings.baseUrl + routes[name].path, attempts: answer.attempts }
      throw new MalformedResponseError('with a page that follows itself', { ...answer, retryAfterMs: undefined }, call)
    }
    query['cursor'] = nextCursor
  }
}

/** Path parameters, body, query, options: in this order, each where the operation has it. */
function readArguments(name: OperationName, args: readonly unknown[]): { input: Input; options: CallOptions } {
  const { pathParameters, body, query } = routes[name]
  const rest = [...args]
  const input = {
    path: pathParameters ? rest.shift() : {},
    body: body ? rest.shift() : undefined,
    query: query ? rest.shift() : undefined,
  }
  return { input, options: (rest[0] ?? {}) as CallOptions }
}
