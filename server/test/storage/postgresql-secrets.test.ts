/** The password of DATABASE_URL is in no output, response or argument of a process, in any failure. */
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { afterFile } from '../../../test/helpers/after-file.ts'
import { runSql } from '../../../test/helpers/database/databases.ts'
import { demandPasswords, startPostgresql } from '../../../test/helpers/database/postgresql.ts'
import { startFaultyNetwork } from '../../../test/helpers/network/faulty-network.ts'
import { runCommand, type ServerProcess, startServerProcess } from '../../../test/helpers/server/run-command.ts'

const PASSWORD = 'Zq7@/x?Zq8#%Zq9'
/** However the password is written, it contains one of these. */
const SECRET = /Zq[789]/

const postgresql = await startPostgresql({ prepare: demandPasswords })
afterFile(postgresql.remove)
const network = await startFaultyNetwork(postgresql.port)
afterFile(network[Symbol.asyncDispose])
await runSql(postgresql.url('postgres'), `CREATE ROLE secretive LOGIN CREATEDB PASSWORD '${PASSWORD}'`)
await runSql(postgresql.url('postgres'), 'CREATE DATABASE failing OWNER secretive')

const urlWith = (password: string, database: string) =>
  network.url(database).replace('postgres@', `secretive:${password}@`)
const url = (database: string) => urlWith(encodeURIComponent(PASSWORD), database)

/** Returns the arguments of every process, as `ps` shows them. */
function processArguments(): string {
  const command = 'cat /proc/[0-9]*/cmdline 2>/dev/null || ps -axo args'
  return spawnSync('sh', ['-c', command], { encoding: 'utf8' }).stdout
}

async function bodies(server: ServerProcess, token: string): Promise<string> {
  const headers = { authorization: `Bearer ${token}` }
  const urls = [`${server.url}/plants`, `${server.adminUrl}/readyz`, `${server.adminUrl}/metrics`]
  const responses = await Promise.all(urls.map((url) => fetch(url, { headers })))
  return (await Promise.all(responses.map(async (each) => each.text()))).join('\n')
}

test('a server whose database fails logs and sends no password', async () => {
  const settings = { ADMIN_PORT: '0', LOG_LEVEL: 'trace' }
  const server = await startServerProcess({ DATABASE_URL: url('failing'), ...settings })
  expect(processArguments()).toMatch(/serve/)
  expect(processArguments()).not.toMatch(SECRET)
  const token = /pst_\w+/.exec(server.output())?.[0] ?? ''
  const seen = [await bodies(server, token)]
  const administrate = (sql: string) => runSql(postgresql.url('postgres'), sql)

  await administrate(`ALTER ROLE secretive PASSWORD 'other'`)
  network.cutAll()
  seen.push(await bodies(server, token))
  await administrate(`ALTER ROLE secretive PASSWORD '${PASSWORD}'`)
  await postgresql.stop()
  seen.push(await bodies(server, token))
  expect(await server.end()).toBe(0)
  await postgresql.start()
  seen.push(server.output())
  expect(seen.join('\n')).toMatch(/"error":50300/)
  expect(server.output()).toMatch(/"level":"warn",.*The database is currently unavailable/)
  expect(seen.join('\n')).not.toMatch(/"error":50000/)
  expect(seen.join('\n')).not.toMatch(SECRET)
})

test('commands that fail print no password', async () => {
  const urls = {
    'a wrong password': urlWith('Zq7wrong', 'plants'),
    'a password that is not percent-encoded': urlWith(PASSWORD, 'plants'),
    'an unknown parameter': `${url('plants')}?password=Zq7`,
    'a server without TLS': `${url('plants')}?sslmode=require`,
  }
  for (const [reason, DATABASE_URL] of Object.entries(urls)) {
    const { exitCode, stdout, stderr } = await runCommand(['token', 'list'], { DATABASE_URL })
    expect([1, 2], reason).toContain(exitCode)
    expect(stderr, reason).toMatch(/^plant-store: .*\n/)
    expect(stdout + stderr, reason).not.toMatch(SECRET)
  }
})
