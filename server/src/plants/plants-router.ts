import { contract } from '@plant-store/contract'
import { initServer } from '@ts-rest/express'
import { serializedJson } from '../http/response/send-json.ts'
import type { SlowReaders } from '../http/response/slow-readers.ts'
import type { ResponseMemory } from '../limits/response-memory.ts'
import type { Cursors } from './cursor.ts'
import type { PlantStore } from './plant-store.ts'

/** What the plants router works with. */
export interface PlantsRouterOptions {
  plants: PlantStore
  cursors: Cursors
  responseMemory: ResponseMemory
  slowReaders: SlowReaders
  publicUrl: string | undefined
}

/** Creates the router that implements the contract's operations on plants. */
export function createPlantsRouter({ plants, cursors, responseMemory, slowReaders, publicUrl }: PlantsRouterOptions) {
  return initServer().router(contract, {
    createPlant: async ({ body, req }) => ({ status: 200, body: await plants.create(req.identity.account, body) }),

    getPlants: async ({ query: { limit, cursor }, req, res }) => {
      const { account } = req.identity
      const after = cursor === undefined ? undefined : await cursors.read(account, cursor)
      const reader = { account, isConnected: () => res.socket?.writable === true }
      await responseMemory.room(reader)
      const { json, next } = await plants.list(account, { limit, after }, (read) => responseMemory.read(reader, read))
      if (next !== undefined) {
        const nextCursor = await cursors.write(account, next)
        res.setHeader('Link', nextPage(publicUrl, `limit=${limit}&cursor=${nextCursor}`))
      }
      return { status: 200, body: serializedJson(json, { reader, responseMemory, slowReaders }) }
    },
  })
}

/** Returns a `Link` header. Without a public URL it is relative to the requested URL (RFC 8288 section 3.1). */
function nextPage(publicUrl: string | undefined, query: string): string {
  return `<${publicUrl === undefined ? '' : publicUrl + contract.getPlants.path}?${query}>; rel="next"`
}
