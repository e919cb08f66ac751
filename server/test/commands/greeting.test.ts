/** What `serve` prints on an empty database. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { connect } from '../../../test/helpers/database/sqlite.ts'
import { freePort } from '../../../test/helpers/free-port.ts'
import {
  commandLine,
  runCommand,
  type ServerProcess,
  spawnCommand,
  startServerProcess,
} from '../../../test/helpers/server/run-command.ts'
import { temporaryDatabase } from '../../../test/helpers/temporary-folder.ts'
import { until } from '../../../test/helpers/until.ts'
import { eventLines, readLines } from '../helpers/telemetry/log-lines.ts'

const DAY = 86_400_000

async function listTokens(environment: Record<string, string>) {
  return JSON.parse((await runCommand(['token', 'list', '--json'], environment)).stdout)
}

test('the token of the first start expires after 7 days, and its secret is not logged', async () => {
  const { url } = temporaryDatabase()
  const environment = { DATABASE_URL: url }
  const server = await startServerProcess(environment)
  expect(await server.end()).toBe(0)
  const output = server.output()
  expect(output).toMatch(/token of the account "demo".* 7 days/)
  const [token] = await listTokens(environment)
  expect(Date.parse(token.expiresAt) - Date.parse(token.createdAt)).toBeGreaterThan(6.9 * DAY)
  expect(Date.parse(token.expiresAt) - Date.parse(token.createdAt)).toBeLessThan(7.1 * DAY)
  const logged = output.split('\n').find((line) => line.includes('"event":"token created"')) ?? ''
  expect(JSON.parse(logged)).toMatchObject({ tokenId: token.id, account: 'demo', expiresAt: token.expiresAt })
  expect(logged).not.toContain('pst_')
})

describe('in production', () => {
  async function startInProduction(environment: Record<string, string>): Promise<ServerProcess> {
    const server = await startServerProcess({ ...environment, NODE_ENV: 'production' })
    onTestFinished(async () => void (await server.end()))
    return server
  }

  test('no token is created, and the command in the log creates one', { timeout: 180_000 }, async () => {
    const { file } = temporaryDatabase()
    const environment = { DATABASE_URL: `file:${path.dirname(file)}/it's "new".db` }
    const server = await startInProduction(environment)
    expect(server.output()).not.toContain('pst_')
    expect(await listTokens(environment)).toEqual([])
    const [line] = eventLines(server.output(), 'empty database')
    expect(line).toMatchObject({
      level: 'info',
      msg: expect.stringMatching(/^the plant store is empty: create a token/),
    })
    const [, command = ''] = /with "(.*)"$/.exec(String(line?.['msg'])) ?? []
    expect(await createToken(command), command).toMatch(/^pst_\w{49}\n$/)
    expect(await listTokens(environment)).toHaveLength(1)
  })

  test('every line of the output is JSON', async () => {
    const server = await startInProduction({ DATABASE_URL: temporaryDatabase().url })
    const lines = server.output().trimEnd().split('\n')
    expect(readLines(server.output())).toHaveLength(lines.length)
  })
})

test('SIGTERM while the token of the greeting is created prints none that is valid', async () => {
  const database = temporaryDatabase()
  const prepared = await startServerProcess({ DATABASE_URL: database.url, NODE_ENV: 'production' })
  expect(await prepared.end()).toBe(0)
  const lock = connect(database.file)
  lock.exec('BEGIN IMMEDIATE')
  const port = String(await freePort())
  const server = spawnCommand(['serve'], { DATABASE_URL: database.url, PORT: port, SHUTDOWN_DELAY: '0' })
  const closed = once(server, 'close')
  let output = ''
  server.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  await until(async () => (await fetch(`http://127.0.0.1:${port}/plants`).catch(() => undefined))?.status === 401)
  server.kill('SIGTERM')
  await until(() => output.includes('"msg":"closing"'))
  lock.close()
  expect(await closed).toEqual([0, null])
  expect(output).not.toContain('pst_')
  expect(output).not.toContain('"msg":"ready"')
  const tokens: { revokedAt: string | null }[] = await listTokens({ DATABASE_URL: database.url })
  expect(tokens.filter(({ revokedAt }) => revokedAt === null)).toEqual([])
})

test.skipIf(!existsSync('/dev/full'))(
  'a greeting and a log that cannot be written do not stop the server',
  async () => {
    const { url } = temporaryDatabase()
    const port = String(await freePort())
    const words = commandLine(['serve']).map((word) => `'${word}'`)
    const env = { PATH: process.env['PATH'], DATABASE_URL: url, PORT: port, SHUTDOWN_DELAY: '0' }
    const child = spawn('sh', ['-c', `exec ${words.join(' ')} > /dev/full`], { env })
    onTestFinished(() => void child.kill('SIGKILL'))
    const closed = once(child, 'close')
    let stderr = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    await until(() => stderr.includes('\n'))
    expect(stderr).toMatch(/^plant-store: no token .*\(ENOSPC\).*\n$/)
    expect((await fetch(`http://127.0.0.1:${port}/plants`)).status).toBe(401)
    child.kill('SIGTERM')
    expect(await closed).toEqual([0, null])
    expect(await listTokens({ DATABASE_URL: url })).toMatchObject([{ account: 'demo', revokedAt: expect.any(String) }])
  },
)

/** Runs a printed line with the built command line instead of that of `npm run`. */
async function createToken(line: string): Promise<string> {
  const words = commandLine([]).map((word) => `'${word}'`)
  const command = line.replace(/npm run --silent plant-store --(?= token)/, words.join(' '))
  const root = fileURLToPath(new URL('../../../', import.meta.url))
  const child = spawn('sh', ['-c', command], { cwd: root, env: { PATH: process.env['PATH'] } })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  await once(child, 'close')
  return output
}
