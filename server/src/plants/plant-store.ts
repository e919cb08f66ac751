import { errorMessages, type Plant, type ValidNewPlant } from '@plant-store/contract'
import type { ListRange, PlantRow, Plants } from '@plant-store/prisma'
import type { ReaderMemory } from '../http/response/response-memory.ts'
import { HttpError } from '../http-error.ts'
import { createGroupCommit } from './group-commit.ts'
import { createListCache, putBack } from './list-cache.ts'

/** A part of an account's list. */
export interface PlantList {
  /** The plants as the text of a JSON array: whole, or in pieces, of which the first has been read. */
  json: Buffer | AsyncIterator<string>
  /** The `seq` of the last plant where more follow. */
  next: number | undefined
}

/** The plants of all accounts, with their rules. */
export type PlantStore = ReturnType<typeof createPlantStore>

/** The memory that a list is read into. */
type ListMemory = Pick<ReaderMemory, 'whenFree' | 'readFirst'>

const UNLIMITED: ListMemory = { whenFree: async () => {}, readFirst: (_limit, task) => task() }

const MEBIBYTE = 2 ** 20
const BATCH_LIMITS = {
  maxBatchItems: 500,
  maxBatchBytes: 4 * MEBIBYTE,
  maxWaitingItems: 10_000,
  maxWaitingBytes: 64 * MEBIBYTE,
}
const CACHE_LIMITS = { maxListBytes: MEBIBYTE, maxBytes: 16 * MEBIBYTE }

/** Creates the plant store of a database. */
export function createPlantStore(plants: Plants) {
  const lists = createListCache({ ...CACHE_LIMITS, readStates: plants.states, readList: plants.list })
  const writes = createGroupCommit<PlantRow, boolean | undefined>({
    ...BATCH_LIMITS,
    weigh: ({ name, tag }) => 100 + name.length + (tag?.length ?? 0),
    commit: (rows) => storeAll(plants, rows),
  })

  return {
    /**
     * Stores a plant, durably. Creating it again with the same content stores nothing and succeeds.
     *
     * @throws HttpError `idTaken` where the account has the id with other content, `unavailable` where too many wait or it is
     *   deleted again and again
     */
    async create(account: string, { id, name, tag }: ValidNewPlant): Promise<Plant> {
      const stored = await writes.add({ account, id: String(id), name, tag: tag ?? null })
      if (stored === undefined) {
        throw new HttpError('unavailable', 'The plant was deleted while it was created. Retry the request.', {
          headers: { 'Retry-After': '1' },
        })
      }
      if (!stored) throw new HttpError('idTaken', errorMessages.idTaken)
      return tag === undefined ? { name } : { name, tag }
    },

    /**
     * Lists the plants of an account in order of creation.
     *
     * @param memory default: without limits
     */
    async list(account: string, range: ListRange = {}, memory: ListMemory = UNLIMITED): Promise<PlantList> {
      const readFirst = <T>(read: () => Promise<T>) => memory.readFirst(range.limit, read)
      const isWholeList = Object.values(range).every((bound) => bound === undefined)
      if (isWholeList) {
        await memory.whenFree()
        return { json: await lists.get(account, readFirst), next: undefined }
      }
      return readFirst(async () => {
        const { pieces, last, more } = await plants.list(account, range)
        const { value: first = '' } = await pieces.next()
        const json = first.endsWith(']') ? Buffer.from(first) : putBack(first, pieces)
        return { json, next: more ? last : undefined }
      })
    },

    /** Returns how many plants are waiting to be stored. */
    waitingWrites: writes.waiting,
  }
}

/**
 * Stores the rows in one transaction, and returns for each whether its account has it now; undefined: it was deleted each
 * time.
 */
async function storeAll(plants: Plants, rows: PlantRow[], attempts = 3): Promise<(boolean | undefined)[]> {
  const inserted = await plants.insert(rows)
  if (inserted === rows.length) return rows.map(() => true)
  // Some ids were already stored, before or by this batch: a plant with the same content counts as created.
  const results = await plants.compare(rows)
  // An operator may delete one in between.
  return results.includes(undefined) && attempts > 1 ? storeAll(plants, rows, attempts - 1) : results
}
