/**
 * Records which statuses the service answers with, operation by operation, while the tests run: set up in every test
 * file and in every server that a test starts as a process. `check-statuses.ts` compares them with the contract at the
 * end.
 */
import { subscribe } from 'node:diagnostics_channel'
import { appendFileSync, mkdirSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'

/** Where each process of a test run notes what it saw, a line `METHOD path status` each. */
export const STATUSES_FOLDER = fileURLToPath(new URL('../../../node_modules/.cache/statuses', import.meta.url))

/** What is longer is a target that no operation has. */
const LONGEST_LINE = 200

const recorded = new Set<string>()

/** Notes that a request was answered with a status. */
export function recordStatus(method: string, target: string, status: number): void {
  const line = `${method} ${target.split('?', 1)[0]} ${status}\n`
  if (recorded.has(line) || line.length > LONGEST_LINE) return
  recorded.add(line)
  mkdirSync(STATUSES_FOLDER, { recursive: true })
  appendFileSync(`${STATUSES_FOLDER}/${process.pid}.txt`, line)
}

subscribe('http.server.response.finish', (event) => {
  const { request, response } = event as { request: IncomingMessage; response: ServerResponse }
  // What stands in for the service in tests of the client may answer anything; it lacks this header.
  if (response.hasHeader('content-security-policy')) {
    recordStatus(request.method ?? '', request.url ?? '', response.statusCode)
  }
})
