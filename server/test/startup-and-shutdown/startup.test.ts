import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import { connect } from '../../../test/helpers/database/databases.ts'
import { freePort } from '../../../test/helpers/free-port.ts'
import { explainSkipped, findRuntime, noteAbsence } from '../../../test/helpers/runtimes.ts'
import { commandLine, runCommand } from '../../../test/helpers/server/run-command.ts'
import { temporaryDatabase } from '../../../test/helpers/temporary-folder.ts'
import { until } from '../../../test/helpers/until.ts'
import { startServer } from '../../src/index.ts'
import { createMemoryLog } from '../helpers/telemetry/log-lines.ts'

/** Reads the status and the text of a response; undefined if nothing listens. */
async function read(url: string): Promise<[number, string] | undefined> {
  const response = await fetch(url).catch(() => undefined)
  return response && [response.status, await response.text()]
}

test('while a migration runs, /livez responds 200, /readyz 503 with the reason, and the public port is closed', async () => {
  const { url: databaseUrl, file } = temporaryDatabase()
  // The migration waits for another process.
  writeFileSync(file, '')
  const other = connect(file)
  other.exec('BEGIN IMMEDIATE')
  const [port, adminPort] = [await freePort(), await freePort()]
  const { logger, lines } = await createMemoryLog()
  const starting = startServer({ port, adminPort, databaseUrl, shutdownDelay: 0 }, logger)
  const admin = `http://127.0.0.1:${adminPort}`
  await until(async () => /migrating/.test(String(await read(`${admin}/readyz`))))

  expect(await read(`${admin}/readyz`)).toEqual([503, expect.stringContaining('migrating')])
  expect(await read(`${admin}/livez`)).toEqual([200, 'live\n'])
  expect(await read(`${admin}/metrics`)).toEqual([503, expect.stringContaining('starting')])
  expect(await read(`http://127.0.0.1:${port}/plants`)).toBeUndefined()
  const migrations = expect.arrayContaining([expect.stringMatching(/_initial$/)])
  // A line before it says that the database is waited for, if that takes long.
  expect(lines().at(-1)).toMatchObject({ migrations, msg: 'creating the tables' })

  other.exec('COMMIT')
  const server = await starting
  expect(await read(`${admin}/readyz`)).toEqual([200, 'ready\n'])
  await server.close()
})

afterAll(explainSkipped)

const old = findRuntime('node-18/bin/node')
noteAbsence('Node.js 18', old)
test.skipIf(!old)('on Node.js 18 every command says in a sentence which versions it needs', () => {
  const [, ...parameters] = commandLine(['serve'])
  const { status, stdout, stderr } = spawnSync(String(old), parameters, { encoding: 'utf8' })
  const sentence = /^plant-store: Node\.js 18\.[.\d]+ is not supported: install a version in the range >=24\.\S+\n$/
  expect([status, stdout, stderr]).toEqual([2, '', expect.stringMatching(sentence)])
})

test('without a SQLite for the processor, the error names package, platform and fix', async () => {
  const pretend = 'data:text/javascript,Object.defineProperty(process,%22arch%22,{value:%22riscv64%22})'
  const environment = { DATABASE_URL: temporaryDatabase().url, NODE_OPTIONS: `--import=${pretend}` }
  const { exitCode, stderr } = await runCommand(['migrate'], environment)
  expect(stderr).toMatch(
    /^plant-store: .* cannot be opened: the package better-sqlite3 has no SQLite that runs on linux riscv64; .+\n$/,
  )
  expect(exitCode).toBe(1)
})
