import type { OperationName } from '../generated/routes.ts'
import type { ReceivedValues } from './endpoint.ts'
import { errorResponse, type FakeResponse, jsonResponse } from './response.ts'

const MAX_PAGE_SIZE = 1000
const CURSOR = /^fake-(\d+)$/

/** A plant in the fake. */
export interface StoredPlant {
  readonly id: bigint
  readonly name: string
  readonly tag?: string
}

/** The data of an account: its plants by id, in order of creation. */
export type Account = Map<bigint, StoredPlant>

/** Creates an account without data. */
export function createAccount(): Account {
  return new Map()
}

/** Responds to a request whose body is valid, from the data of an account. */
type Handler = (values: ReceivedValues, account: Account) => FakeResponse

/** The handler of each operation. Without the handler of an operation that the contract adds, this does not compile. */
export const handlers: Record<OperationName, Handler> = {
  createPlant({ body }, plants) {
    const plant = body as StoredPlant
    const stored = plants.get(plant.id)
    if (stored && (stored.name !== plant.name || stored.tag !== plant.tag)) {
      return errorResponse('idTaken', { message: 'id: is taken by another plant of this account. Choose another id.' })
    }
    plants.set(plant.id, plant)
    return jsonResponse(200, withoutId(plant))
  },

  getPlants({ query }, plants) {
    const { limit, cursor } = query as { limit?: number; cursor?: string }
    const start = cursor === undefined ? 0 : Number(CURSOR.exec(cursor)?.[1])
    if (limit !== undefined && !(limit >= 1 && limit <= MAX_PAGE_SIZE)) {
      return errorResponse('invalidQuery', { message: `limit: must be an integer between 1 and ${MAX_PAGE_SIZE}` })
    }
    if (!(start <= plants.size)) {
      return errorResponse('invalidQuery', { message: 'cursor: must be taken from the Link header of an earlier page' })
    }
    const end = start + (limit ?? plants.size)
    const headers = end < plants.size && { link: `<?limit=${limit}&cursor=fake-${end}>; rel="next"` }
    return jsonResponse(200, [...plants.values()].slice(start, end).map(withoutId), headers || {})
  },
}

function withoutId({ id: _, ...plant }: StoredPlant): object {
  return plant
}
