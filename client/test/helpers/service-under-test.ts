import { randomUUID } from 'node:crypto'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { createPlantStoreClient, type PlantStoreClient } from '../../src/index.ts'
import { createFakePlantStore } from '../../src/testing/index.ts'

/** The options of a token. */
export interface TestToken {
  account?: string
  scopes?: readonly ('read' | 'write')[]
  expiresAt?: Date
}

/** A plant store, the real one or the fake. */
export interface ServiceUnderTest extends AsyncDisposable {
  url: string
  /** Sends a raw request. */
  fetch(url: string, init?: RequestInit): Promise<Response>
  createToken(token?: TestToken): Promise<string>
  /** Ids above 2^53 arrive rounded, by something in front of the service. */
  roundsIds?: true
  /** Creates a client of a new account. */
  newAccount(): Promise<PlantStoreClient>
}

/** The services by name, with a function to start each. */
export const services: [string, () => Promise<ServiceUnderTest>][] = [
  ['the real service', startRealService],
  ['the fake', startFake],
]

export async function startRealService(): Promise<ServiceUnderTest> {
  const server = await startTestServer()
  const createToken = async (token?: TestToken) => (await server.createToken(token)).token
  return {
    url: server.url,
    fetch,
    createToken,
    newAccount: async () =>
      createPlantStoreClient({ baseUrl: server.url, token: await createToken({ account: randomUUID() }) }),
    [Symbol.asyncDispose]: server.close,
  }
}

async function startFake(): Promise<ServiceUnderTest> {
  const store = createFakePlantStore()
  const send = store.fetch as typeof fetch
  let accounts = 0
  return {
    url: store.baseUrl,
    fetch: send,
    createToken: async (token) => store.createToken(token),
    async newAccount() {
      const token = store.createToken({ account: `account ${++accounts}` })
      return createPlantStoreClient({ ...store, token })
    },
    async [Symbol.asyncDispose]() {},
  }
}
