/** A query parameter that does not exist is an error, above all options in the place of the query. */
import { expect, test } from 'vitest'
import { createPlantStoreClient, RequestError } from '../../src/index.ts'
import { createFakePlantStore } from '../../src/testing/index.ts'
import { failureOf } from '../helpers/failure-of.ts'

test.each(['signal', 'page', 'timeout'])('%s is an error, and nothing is sent', async (name) => {
  const store = createFakePlantStore()
  const client = createPlantStoreClient(store)
  const query = { [name]: 1 } as object
  const calls = [client.getPlants(query), client.raw.getPlants(query), client.iterate.getPlants(query).next()]
  for (const call of calls) {
    const { message } = await failureOf(call, RequestError)
    expect(message).toContain(`${name}: is not a parameter; options are the argument after the query`)
  }
  expect(store.requests).toEqual([])
})
