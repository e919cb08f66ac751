import { expect } from 'vitest'
import { newDatabase } from '../../../../test/helpers/database/databases.ts'
import { startServerProcess } from '../../../../test/helpers/server/run-command.ts'
import { runInProcess } from '../commands/run-in-process.ts'

/** Starts a server whose log a test reads, with a token of the account "alice". */
export async function startLogged(environment: Record<string, string> = {}) {
  const DATABASE_URL = environment['DATABASE_URL'] ?? (await newDatabase())
  const { stdout } = await runInProcess(['token', 'create', '--account', 'alice'], { DATABASE_URL })
  const token = stdout.trim()
  const server = await startServerProcess({ DATABASE_URL, ...environment })
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
    /** Stops the server, which writes the rest of its log. */
    async end() {
      expect(await server.end()).toBe(0)
    },
  }
}
