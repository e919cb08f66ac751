import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { freePort } from '../../../test/helpers/free-port.ts'
import { until } from '../../../test/helpers/until.ts'
import { createPlantStoreClient } from '../../src/index.ts'
import { installTools } from './install-tools.ts'
import { type ServiceUnderTest, startRealService } from './service-under-test.ts'

const tools = fileURLToPath(new URL('../tools', import.meta.url))

/** How a request or its response differs from the document, as Prism says it in a header of the response. */
interface Violation {
  location: string[]
  code?: string | number
  message: string
}

/**
 * Starts a real service behind Prism, which compares every request and response with the document of the service. Closing
 * it fails if a response differs from the document, or a request does that the service accepts.
 */
export async function startServiceBehindPrism(): Promise<ServiceUnderTest> {
  const service = await startRealService()
  const prism = await startPrism(service.url)
  const unexpected: string[] = []

  const send: ServiceUnderTest['fetch'] = async (url, init) => {
    const response = await fetch(url, init)
    const violations: Violation[] = JSON.parse(response.headers.get('sl-violations') ?? '[]')
    for (const { location, message, code } of violations) {
      const isRejected = location[0] === 'request' && response.status >= 400 && response.status < 500
      // Prism takes 2^53 - 1 for the maximum of an int64, and rounds what is above.
      const isAboveSafeRange = location.join('.') === 'request.body.id' && code === 'maximum'
      if (!isRejected && !isAboveSafeRange) unexpected.push(`${init?.method} ${url} ${response.status}: ${message}`)
    }
    return response
  }

  return {
    url: prism.url,
    fetch: send,
    createToken: service.createToken,
    newAccount: async () => {
      const token = await service.createToken({ account: crypto.randomUUID() })
      return createPlantStoreClient({ baseUrl: prism.url, token, fetch: send })
    },
    roundsIds: true,
    async [Symbol.asyncDispose]() {
      await prism.stop()
      await service[Symbol.asyncDispose]()
      expect(unexpected).toEqual([])
    },
  }
}

/** Starts Prism as a proxy that validates, and waits until it listens. */
async function startPrism(upstream: string): Promise<{ url: string; stop(): Promise<void> }> {
  const script = path.join(await installTools(tools), 'node_modules/.bin/prism')
  const port = await freePort()
  const parameters = ['proxy', `${upstream}/openapi.json`, upstream, '--port', String(port), '--verboseLevel', 'warn']
  const child = spawn(process.execPath, [script, ...parameters], { stdio: 'ignore' })
  const exited = once(child, 'exit')
  const url = `http://127.0.0.1:${port}`
  const responds = () =>
    fetch(url).then(
      () => true,
      () => child.exitCode !== null,
    )
  await until(responds, 60_000)
  if (child.exitCode !== null) throw new Error(`Prism exited with ${child.exitCode}`)
  return {
    url,
    async stop() {
      child.kill()
      await exited
    },
  }
}
