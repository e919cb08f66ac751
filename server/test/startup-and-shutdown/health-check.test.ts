import { execFile } from 'node:child_process'
import { renameSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { freePort } from '../../../test/helpers/free-port.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { temporaryDatabase } from '../../../test/helpers/temporary-folder.ts'

const program = fileURLToPath(new URL('../../dist/health-check.js', import.meta.url))
const database = temporaryDatabase()

const server = await startTestServer({ host: '::', adminPort: 0, databaseUrl: database.url })
const portOf = (url = '') => new URL(url).port
const settings = { HOST: '::', PORT: portOf(server.url), ADMIN_PORT: portOf(server.adminUrl) }

/** Runs the health check with the settings of a container, and returns its exit code and output. */
function checkHealth(changes: Record<string, string | undefined> = {}): Promise<[exitCode: number, output: string]> {
  return new Promise((resolve) => {
    execFile(process.execPath, [program], { env: { ...settings, ...changes } }, (error, stdout, stderr) => {
      resolve([Number(error?.code ?? 0), stdout + stderr])
    })
  })
}

test('succeeds while the private port says ready, or without one if the server responds, also over IPv6', async () => {
  expect(await checkHealth()).toEqual([0, 'ready\n'])
  for (const HOST of ['::', '0.0.0.0', 'localhost']) {
    expect(await checkHealth({ ADMIN_PORT: undefined, HOST })).toEqual([0, expect.anything()])
  }
})

test('fails with the reason if no server listens, or writes would be rejected', async () => {
  const port = String(await freePort())
  const reason = `connect ECONNREFUSED 127.0.0.1:${port}`
  expect(await checkHealth({ ADMIN_PORT: port })).toEqual([
    1,
    `The server on 127.0.0.1, port ${port}, is not ready: ${reason}\n`,
  ])
  renameSync(database.file, `${database.file}.moved`)
  await expect.poll(() => checkHealth()).toEqual([1, expect.stringContaining('moved')])
})
