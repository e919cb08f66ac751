/**
 * Fails a test file in which the service responds with a status that the contract does not declare for the operation: servers
 * in its process, and those in other processes whose responses `fetch` receives.
 */
import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterAll, expect } from 'vitest'

// Stand-ins for the service in tests of the client may respond anything; they lack this header.
const HEADER = 'content-security-policy'
/** The statuses of each `METHOD path`. */
const seen = new Map<string, Set<number>>()

/** Records the status of the response to a request. */
export function recordStatus(method: string, target: string, status: number): void {
  const operation = `${method} ${target.split('?', 1)[0]}`
  seen.set(operation, (seen.get(operation) ?? new Set()).add(status))
}

subscribe('http.server.response.finish', (event) => {
  const { request, response } = event as { request: IncomingMessage; response: ServerResponse }
  if (response.hasHeader(HEADER)) recordStatus(request.method ?? '', request.url ?? '', response.statusCode)
})

/** What `fetch` publishes of a response. */
interface ReceivedHeaders {
  request: { method: string; path: string }
  response: { statusCode: number; headers: readonly Buffer[] }
}

subscribe('undici:request:headers', (event) => {
  const { request, response } = event as ReceivedHeaders
  const isService = response.headers.some((name) => name.toString().toLowerCase() === HEADER)
  if (isService) recordStatus(request.method, request.path, response.statusCode)
})

/** Registers the check of a test file. */
export function rejectUndeclaredStatuses(): void {
  afterAll(async () => {
    if (seen.size === 0) return
    const { contract } = await import('@plant-store/contract')
    const responded = [...seen]
    seen.clear()
    for (const { method, path, responses } of Object.values(contract)) {
      const operation = new RegExp(`^${method} ${path.replaceAll(/:\w+/g, '[^/]+')}$`)
      const statuses = responded.flatMap(([each, found]) => (operation.test(each) ? [...found] : []))
      // The OpenAPI document adds what follows from a parameter of a path, and from a body.
      const added = [...(path.includes(':') ? [404] : []), ...(method === 'GET' ? [] : [413, 415])]
      const undeclared = statuses.filter((status) => !(status in responses || added.includes(status)))
      expect(undeclared, `statuses of ${method} ${path} that the contract does not declare`).toEqual([])
    }
  })
}
