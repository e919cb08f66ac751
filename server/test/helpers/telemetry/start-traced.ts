import { expect } from 'vitest'
import { newDatabase } from '../../../../test/helpers/database/databases.ts'
import { runCommand, startServerProcess } from '../../../../test/helpers/server/run-command.ts'
import { startTraceCollector } from './trace-collector.ts'

/** Starts a server that sends traces, with a token of the account "alice". */
export async function startTraced(environment: Record<string, string> = {}) {
  const collector = await startTraceCollector()
  const DATABASE_URL = environment['DATABASE_URL'] ?? (await newDatabase())
  const { stdout } = await runCommand(['token', 'create', '--account', 'alice'], { DATABASE_URL })
  const token = stdout.trim()
  const server = await startServerProcess({ DATABASE_URL, ...collector.environment, ...environment })
  const call = (target: string, options: RequestInit = {}) =>
    fetch(server.url + target, {
      ...options,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...options.headers },
    })
  return {
    server,
    token,
    call,
    create: (id: number) => call('/plants', { method: 'POST', body: JSON.stringify({ id, name: 'Ficus' }) }),
    /** Stops the server, which sends the remaining spans, and returns all of them. */
    async end() {
      expect(await server.end()).toBe(0)
      return collector.spans
    },
  }
}
