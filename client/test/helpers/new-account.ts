import { randomUUID } from 'node:crypto'
import type { TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { createPlantStoreClient, type PlantStoreClient } from '../../src/index.ts'

/** Creates a client of an account that no other client has. */
export async function newAccount(server: TestServer): Promise<PlantStoreClient> {
  const { token } = await server.createToken({ account: randomUUID() })
  return createPlantStoreClient({ baseUrl: server.url, token })
}
