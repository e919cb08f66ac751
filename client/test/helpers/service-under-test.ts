import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { createFakePlantStore } from '../../src/testing/index.ts'

/** A plant store, the real one or the fake. */
export interface ServiceUnderTest extends AsyncDisposable {
  url: string
  /** Sends a raw request. */
  fetch(url: string, init?: RequestInit): Promise<Response>
  createToken(token?: Parameters<TestServer['createToken']>[0]): Promise<string>
  /** Something in front of the service reads the requests itself, and rounds ids above 2^53. */
  isBehindProxy?: true
}

export async function startRealService(): Promise<ServiceUnderTest> {
  const { url, createToken, close } = await startTestServer()
  return { url, fetch, createToken: async (token) => (await createToken(token)).token, [Symbol.asyncDispose]: close }
}

export async function startFake(): Promise<ServiceUnderTest> {
  const { baseUrl: url, fetch, createToken } = createFakePlantStore()
  return {
    ...{ url, fetch: fetch as typeof globalThis.fetch },
    createToken: async (token) => createToken(token),
    async [Symbol.asyncDispose]() {},
  }
}
