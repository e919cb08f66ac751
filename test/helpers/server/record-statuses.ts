/**
 * Records the statuses of the service, operation by operation, while the tests run: of the servers in the process of a
 * test file, and of what `fetch` receives from servers in other processes. `check-statuses.ts` compares them with the
 * contract at the end.
 */
import { subscribe } from 'node:diagnostics_channel'
import { appendFileSync, mkdirSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'

/** Where each process of a test run writes what it saw, as lines `METHOD path status`. */
export const STATUSES_FOLDER = fileURLToPath(new URL('../../../node_modules/.cache/statuses', import.meta.url))

/** No operation has a longer target. */
const MAX_LINE = 200

const recorded = new Set<string>()

/** Records the status of the response to a request. */
export function recordStatus(method: string, target: string, status: number): void {
  const line = `${method} ${target.split('?', 1)[0]} ${status}\n`
  if (recorded.has(line) || line.length > MAX_LINE) return
  recorded.add(line)
  mkdirSync(STATUSES_FOLDER, { recursive: true })
  appendFileSync(`${STATUSES_FOLDER}/${process.pid}.txt`, line)
}

// Stand-ins for the service in tests of the client may respond anything; they lack this header.
const HEADER = 'content-security-policy'

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
