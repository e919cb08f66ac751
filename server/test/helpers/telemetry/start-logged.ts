import { expect } from 'vitest'
import { newDatabase } from '../../../../test/helpers/database/databases.ts'
import { startServerProcess } from '../../../../test/helpers/server/run-command.ts'
import { runInProcess } from '../commands/run-in-process.ts'

/** Starts a server in production whose log a test reads, with an empty database, then creates a token of "alice". */
export async function startLogged(environment: Record<string, string> = {}) {
  const DATABASE_URL = await newDatabase()
  const server = await startServerProcess({ NODE_ENV: 'production', DATABASE_URL, ...environment })
  const created = await runInProcess(['token', 'create', '--account', 'alice'], { DATABASE_URL })
  const token = created.stdout.trim()
  const call = (target: string, options: RequestInit = {}) =>
    fetch(server.url + target, {
      ...options,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...options.headers },
    })
  return {
    databaseUrl: DATABASE_URL,
    server,
    token,
    /** The lines of the command that created the token. */
    creation: created.stderr,
    call,
    create: (id: number) => call('/plants', { method: 'POST', body: JSON.stringify({ id, name: 'Ficus' }) }),
    /** Stops the server, which writes the rest of its log. */
    async end() {
      expect(await server.end()).toBe(0)
    },
  }
}
