import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { freePort } from '../../../test/helpers/free-port.ts'
import { installTools } from '../../../test/helpers/install-tools.ts'
import { responds, startProgram } from '../../../test/helpers/start-program.ts'
import { type ServiceUnderTest, startRealService } from './service-under-test.ts'

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
  const tools = await installTools(fileURLToPath(new URL('../tools', import.meta.url)))
  const port = await freePort()
  const options = ['--port', String(port), '--verboseLevel', 'warn']
  const command = ['proxy', `${service.url}/openapi.json`, service.url, ...options]
  const url = `http://127.0.0.1:${port}`
  const script = path.join(tools, 'node_modules/.bin/prism')
  const prism = await startProgram([process.execPath, script, ...command], responds(url))
  const unexpected: string[] = []

  async function send(target: string, init?: RequestInit): Promise<Response> {
    const response = await fetch(target, init)
    const violations: Violation[] = JSON.parse(response.headers.get('sl-violations') ?? '[]')
    for (const { location, message, code } of violations) {
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
    isBehindProxy: true,
    async [Symbol.asyncDispose]() {
      await prism[Symbol.asyncDispose]()
      await service[Symbol.asyncDispose]()
      expect(unexpected).toEqual([])
    },
  }
}
