import { type Question, type Sent, send } from './call/call.ts'
import type {
  DirectOperations,
  IterateOperations,
  OperationName,
  RawOperations,
  SafeOperations,
} from './generated/operations.ts'
import { routes } from './generated/routes.ts'
import { type CallOptions, type ClientOptions, readCallOptions, readClientOptions, type Settings } from './options.ts'
import { iteratePages, nextPage } from './pages.ts'

/** Calls the plant store. Its operations can be taken off it and called by themselves. */
export interface PlantStoreClient extends DirectOperations {
  /**
   * The same operations as values: `{ ok: true, data }` or `{ ok: false, error }`, and never a throw.
   *
   * @example
   * const result = await client.safe.createPlant({ id: 1, name: 'Ficus' })
   * if (!result.ok && result.error.kind === 'timeout') showRetryButton()
   */
  readonly safe: SafeOperations

  /**
   * The same operations with the status, the headers and the request id beside the data.
   *
   * @example
   * const { data, requestId, nextCursor } = await client.raw.getPlants({ limit: 20 })
   */
  readonly raw: RawOperations

  /**
   * The operations that page, as loops.
   *
   * @example
   * for await (const plant of client.iterate.getPlants({ limit: 500 })) console.log(plant.name)
   */
  readonly iterate: IterateOperations

  /**
   * Another client with some options set anew; this one stays as it is.
   *
   * @example
   * const patient = client.withOptions({ timeout: 120_000, retries: 5 })
   */
  withOptions(options: CallOptions): PlantStoreClient
}

type Face = Partial<Record<OperationName, (...parameters: unknown[]) => unknown>>

/**
 * Makes a client of the plant store. It sends nothing before an operation is called and holds nothing open.
 *
 * @throws {RequestError} An option is wrong: the message says which and why.
 *
 * @example
 * const client = createPlantStoreClient({ baseUrl: 'https://example.com', token: 'pst_...' })
 * const plant = await client.createPlant({ id: 9007199254740993n, name: 'Monstera', tag: 'aroid' })
 * const plants = await client.getPlants()
 */
export function createPlantStoreClient(options: ClientOptions = {}): PlantStoreClient {
  return createFaces(readClientOptions(options))
}

function createFaces(settings: Settings): PlantStoreClient {
  const direct: Face = {}
  const safe: Face = {}
  const raw: Face = {}
  const iterate: Face = {}
  for (const operation of Object.keys(routes) as OperationName[]) {
    const ask = (parameters: unknown[]): Promise<Sent> => send(readParameters(operation, parameters), settings)
    direct[operation] = async (...parameters) => (await ask(parameters)).data
    safe[operation] = async (...parameters) => {
      try {
        return { ok: true, data: (await ask(parameters)).data }
      } catch (error) {
        return { ok: false, error }
      }
    }
    const { paged } = routes[operation]
    raw[operation] = async (...parameters) => {
      const sent = await ask(parameters)
      const { data, status, headers, requestId, attempts } = sent
      const answer = { data, status, headers, requestId, attempts }
      return paged ? { ...answer, nextCursor: nextPage(sent)?.cursor } : answer
    }
    if (paged) iterate[operation] = (...parameters) => iteratePages(readParameters(operation, parameters), settings)
  }
  const withOptions = (options: CallOptions): PlantStoreClient => createFaces(readCallOptions(options, settings))
  return { ...direct, safe, raw, iterate, withOptions } as unknown as PlantStoreClient
}

/** Path parameters, body, query, options: in this order, each where the operation has it. */
function readParameters(operation: OperationName, parameters: unknown[]): Question {
  const { pathParameters, body, query } = routes[operation]
  const rest = [...parameters]
  const input = {
    path: pathParameters && rest.shift(),
    body: body && rest.shift(),
    query: query && rest.shift(),
  }
  return { operation, input, options: rest[0] as CallOptions | undefined }
}
