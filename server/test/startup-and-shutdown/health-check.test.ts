import { execFile } from 'node:child_process'
import { renameSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../../test/helpers/free-port.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { temporaryDatabase } from '../../../test/helpers/temporary-folder.ts'

const program = fileURLToPath(new URL('../../dist/health-check.js', import.meta.url))
const database = temporaryDatabase()

let server: TestServer
let settings: Record<string, string>
beforeAll(async () => {
  server = await startTestServer({ host: '::', adminPort: 0, databaseUrl: database.url })
  const portOf = (url = '') => new URL(url).port
  settings = { HOST: '::', PORT: portOf(server.url), ADMIN_PORT: portOf(server.adminUrl) }
})
afterAll(() => server.close())

/** Runs the health check with the settings of a container. */
function checkHealth(environment: Record<string, string>): Promise<{ exitCode: number; output: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [program], { env: environment }, (error, stdout, stderr) => {
      resolve({ exitCode: Number(error?.code ?? 0), output: stdout + stderr })
    })
  })
}

test('succeeds while the private port says ready', async () => {
  expect(await checkHealth(settings)).toEqual({ exitCode: 0, output: 'ready\n' })
})

test('succeeds without a private port if the server responds, also over IPv6', async () => {
  const { ADMIN_PORT: _, ...others } = settings
  for (const HOST of ['::', '0.0.0.0', 'localhost']) {
    expect(await checkHealth({ ...others, HOST })).toMatchObject({ exitCode: 0 })
  }
})

test('fails with the reason if no server listens', async () => {
  const ADMIN_PORT = String(await freePort())
  expect(await checkHealth({ ...settings, ADMIN_PORT })).toEqual({
    exitCode: 1,
    output: `The server on 127.0.0.1, port ${ADMIN_PORT}, is not ready: connect ECONNREFUSED 127.0.0.1:${ADMIN_PORT}\n`,
  })
})

test('fails with the reason if writes would be rejected', async () => {
  renameSync(database.file, `${database.file}.moved`)
  await expect
    .poll(() => checkHealth(settings))
    .toMatchObject({ exitCode: 1, output: expect.stringContaining('moved') })
})
