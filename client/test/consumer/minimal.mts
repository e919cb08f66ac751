// The first calls of most apps, to measure the compiler's cost.
import { createPlantStoreClient } from '@plant-store/client'

const client = createPlantStoreClient({ baseUrl: 'https://example.com', token: 'pst_test' })
export const created = await client.createPlant({ id: 1n, name: 'Ficus', tag: 'fig' })
export const listed = await client.getPlants({ limit: 10 })
export const result = await client.safe.createPlant({ id: 2, name: 'Monstera' })
if (!result.ok && result.error.kind === 'api') result.error.status satisfies number
for await (const plant of client.iterate.getPlants()) plant.name satisfies string
