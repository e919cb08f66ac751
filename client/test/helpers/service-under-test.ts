import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { freePort } from '../../../test/helpers/free-port.ts'
import { installTools } from '../../../test/helpers/install-tools.ts'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { responds, startProgram } from '../../../test/helpers/start-program.ts'
import { createFakePlantStore } from '../../src/testing/index.ts'

/** A plant store, the real one or the fake. */
export interface ServiceUnderTest extends AsyncDisposable {
  url: string
  /** Sends a raw request. */
  fetch(url: string, init?: RequestInit): Promise<Response>
  createToken(token?: { account?: string }): Promise<string>
  /** Creates a token that is no longer valid. */
  createEndedToken(): Promise<string>
  /** Something in front of the service reads the requests itself, and rounds ids above 2^53. */
  isBehindProxy?: true
}

async function startRealService(): Promise<ServiceUnderTest> {
  const { url, createToken, close } = await startTestServer()
  return {
    ...{ url, fetch, [Symbol.asyncDispose]: close },
    createToken: async (token) => (await createToken(token)).token,
    createEndedToken: async () => (await createToken({ expiresAt: new Date(Date.now() - 1000) })).token,
  }
}

async function startFake(): Promise<ServiceUnderTest> {
  const { baseUrl: url, fetch, createToken, revokeToken } = createFakePlantStore()
  return {
    ...{ url, fetch: fetch as typeof globalThis.fetch },
    createToken: async (token) => createToken(token),
    async createEndedToken() {
      const token = createToken()
      revokeToken(token)
      return token
    },
    async [Symbol.asyncDispose]() {},
  }
}

/**
 * Starts a real service behind Prism, which compares every request and response with the document of the service. Closing
 * it fails if a response differs from the document, or a request does that the service accepts.
 */
async function startServiceBehindPrism(): Promise<ServiceUnderTest> {
  const service = await startRealService()
  const tools = await installTools(fileURLToPath(new URL('../tools', import.meta.url)))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const command = [process.execPath, path.join(tools, 'node_modules/.bin/prism'), 'proxy']
  const options = [`${service.url}/openapi.json`, service.url, '--port', String(port), '--verboseLevel', 'warn']
  const prism = await startProgram([...command, ...options], responds(url))
  const unexpected: string[] = []

  async function send(target: string, init?: RequestInit): Promise<Response> {
    const response = await fetch(target, init)
    // How the request or the response differs from the document.
    for (const { location, message, code } of JSON.parse(response.headers.get('sl-violations') ?? '[]')) {
      const isRejected = location[0] === 'request' && response.status >= 400 && response.status < 500
      // Prism takes 2^53 - 1 for the maximum of an int64, and rounds what is above.
      const isAboveSafeRange = location.join('.') === 'request.body.id' && code === 'maximum'
      if (!isRejected && !isAboveSafeRange) unexpected.push(`${init?.method} ${target} ${response.status}: ${message}`)
    }
    return response
  }

  return {
    url,
    fetch: send,
    createToken: service.createToken,
    createEndedToken: service.createEndedToken,
    isBehindProxy: true,
    async [Symbol.asyncDispose]() {
      await prism[Symbol.asyncDispose]()
      await service[Symbol.asyncDispose]()
      expect(unexpected).toEqual([])
    },
  }
}

/** How to start each plant store. */
export const starts = {
  'the real service': startRealService,
  'the fake': startFake,
  ...(isLong && { 'the real service behind Prism': startServiceBehindPrism }),
}
