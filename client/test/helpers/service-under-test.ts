import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { createPlantStoreClient, type PlantStoreClient } from '../../src/index.ts'
import { createFakePlantStore } from '../../src/testing/index.ts'
import { newAccount } from './new-account.ts'

/** What a token of a service may be. */
export interface TestToken {
  account?: string
  scopes?: readonly ('read' | 'write')[]
  expiresAt?: Date
}

/** A plant store, the real one or the fake: what can be told of it from outside. */
export interface ServiceUnderTest extends AsyncDisposable {
  url: string
  /** Sends a request as it stands. */
  fetch(url: string, init?: RequestInit): Promise<Response>
  createToken(token?: TestToken): Promise<string>
  /** A client of an account that no other client has. */
  newAccount(): Promise<PlantStoreClient>
}

/** Starts the real service, or the fake. */
export const services: [string, () => Promise<ServiceUnderTest>][] = [
  ['the real service', startRealService],
  ['the fake', startFake],
]

async function startRealService(): Promise<ServiceUnderTest> {
  const server = await startTestServer()
  return {
    url: server.url,
    fetch,
    createToken: async (token) => (await server.createToken(token)).token,
    newAccount: () => newAccount(server),
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
