import type { Plants } from '@plant-store/prisma'
import { HttpError, unavailable } from '../requests/errors.ts'
import { asBody } from '../requests/responses.ts'
import type { Handlers } from '../requests/router.ts'
import type { Cursors } from './cursor.ts'
import { createGroupCommit } from './group-commit.ts'
import { createLists } from './lists.ts'

/** Creates the operations on the plants of a database, with their rules. */
export function createPlantStore(plants: Plants, cursors: Cursors): Handlers {
  const readList = createLists(plants)
  const create = createGroupCommit(plants.create)

  return {
    /**
     * Stores a plant, durably. Creating it again with the same content stores nothing and succeeds.
     *
     * @throws {HttpError} `idTaken` where the account has the id with other content, `unavailable` where it is
     *   deleted again and again
     */
    async createPlant({ id, name, tag, ...unused }, account) {
      const outcome = await create({ account, id: String(id), name, tag: tag ?? null })
      if (outcome === 'deleted') throw unavailable('The plant was deleted while it was created. Retry the request.', 1)
      if (outcome === 'taken') throw new HttpError('idTaken')
      return { body: tag === undefined ? { name } : { name, tag }, unused }
    },

    /** Lists the plants of an account in order of creation. A page, or the rest of a list, says where it ends. */
    async getPlants({ limit, cursor, ...unused }, account, known) {
      const after = cursor === undefined ? undefined : cursors.read(account, cursor)
      const { json, version, end, more } = await readList(account, { limit, after }, known)
      const isPart = limit !== undefined || cursor !== undefined
      const page = isPart ? { endCursor: cursors.write(account, end), hasNextPage: more } : undefined
      return { body: asBody(json), version, page, unused }
    },
  }
}
