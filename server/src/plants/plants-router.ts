import { contract } from '@plant-store/contract'
import { initServer } from '@ts-rest/express'
import { serializedJson, waitForConnection } from '../http/responses.ts'
import type { Cursors } from './cursor.ts'
import type { PlantStore } from './plant-store.ts'

/** What the plants router works with. */
export interface PlantsRouterOptions {
  plants: PlantStore
  cursors: Cursors
  publicUrl: string | undefined
}

/** Creates the router that implements the contract's operations on plants. */
export function createPlantsRouter({ plants, cursors, publicUrl }: PlantsRouterOptions) {
  return initServer().router(contract, {
    createPlant: async ({ body, req }) => ({ status: 200, body: await plants.create(req.identity.account, body) }),

    getPlants: async ({ query, req, res }) => {
      const { limit, cursor } = query
      const { account } = req.identity
      await waitForConnection(res)
      const after = cursor === undefined ? undefined : await cursors.read(account, cursor)
      const { json, next } = await plants.list(account, { limit, after })
      if (next !== undefined) {
        const target = publicUrl === undefined ? '' : publicUrl + contract.getPlants.path
        res.setHeader('Link', nextPage(target, { ...query, cursor: await cursors.write(account, next) }))
      }
      return { status: 200, body: serializedJson(json) }
    },
  })
}

/** The parameters of a query as the contract decodes them, of which one that may be repeated is a list. */
type Query = Readonly<Record<string, number | string | boolean | readonly string[] | undefined>>

/**
 * Returns the `Link` header to the next page, which has every parameter of this one, so that a filter is not lost.
 *
 * @param target the URL without a query; empty: relative to the requested URL (RFC 8288 section 3.1)
 */
export function nextPage(target: string, query: Query): string {
  const pairs = Object.entries(query).flatMap(([name, values]) =>
    [values ?? []].flat().map((value): [string, string] => [name, String(value)]),
  )
  return `<${target}?${new URLSearchParams(pairs)}>; rel="next"`
}
