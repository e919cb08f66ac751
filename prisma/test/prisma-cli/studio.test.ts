import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium, type Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { browserOptions, browserPath } from '../../../test/helpers/browser.ts'
import { freePort, root, startProgram } from '../../../test/helpers/programs.ts'
import { temporaryFolder } from '../../../test/helpers/temporary.ts'
import { openDatabase } from '../../src/database.ts'
import { engines, migrated, newRole } from '../helpers/engines.ts'
import { commandLines, runPrisma } from '../helpers/run.ts'

const LOCAL = ['127.0.0.1', 'localhost']

test.skipIf(!browserPath).each(engines)(
  'Prisma Studio shows the plants with their exact ids on $engine, contacts no other machine, and shows no password to other users',
  async ({ engine, newDatabase }) => {
    const database = await migrated(newDatabase())
    const { plants, close } = await openDatabase(database.url)
    await plants.create([
      { account: 'alice', id: '9223372036854775807', name: 'Citrus × limon', tag: null },
      { account: 'alice', id: '9007199254740993', name: 'Monstera', tag: null },
    ])
    await close()
    const role = engine === 'postgresql' ? await newRole('visitor', 'SUPERUSER') : undefined

    const { page, requested } = await openPage()
    const { url, connections } = await startStudio(role?.as(database.url) ?? database.url)
    const response = await page.goto(url)
    expect(response?.headers()['content-security-policy']).toContain("frame-ancestors 'none'")
    await page.getByText('Plant', { exact: true }).first().click()
    await page.getByText('Citrus × limon', { exact: true }).waitFor()

    for (const id of ['9223372036854775807', '9007199254740993'])
      expect(await page.getByText(id, { exact: true }).count()).toBe(1)

    expect([...new Set(requested.map(({ origin }) => origin))]).toEqual([new URL(url).origin])
    expect(connections().filter((host) => !LOCAL.includes(host))).toEqual([])

    const secrets = role ? [role.password, encodeURIComponent(role.password)] : []
    expect(commandLines().filter((line) => secrets.some((secret) => line.includes(secret)))).toEqual([])
  },
)

test.each(engines)('studio reports a missing database in one line on $engine', async (each) => {
  const database = await each.newDatabase()
  const { exitCode, stdout, stderr } = await runPrisma(['studio', '--browser', 'none'], database.url)
  expect(stderr.startsWith(`${database.name} does not exist`)).toBe(true)
  expect(stderr.trim()).not.toContain('\n')
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
  expect(await database.contents()).toEqual({})
})

/** Starts Studio. Returns its URL, and what returns the hosts that it has connected to. */
async function startStudio(databaseUrl: string): Promise<{ url: string; connections: () => string[] }> {
  const port = await freePort()
  const connections = path.join(temporaryFolder(), 'connections')
  writeFileSync(connections, '')
  const command = ['npm', 'run', 'studio', '--', '--browser', 'none', '--port', String(port)]
  const reporting = `--require=${fileURLToPath(new URL('../helpers/report-connections.cjs', import.meta.url))}`
  const own = { DATABASE_URL: databaseUrl, NODE_OPTIONS: reporting, CONNECTIONS: connections }
  // Otherwise npm asks the registry for a newer npm.
  const env = { ...process.env, ...own, npm_config_update_notifier: 'false' }
  const studio = await startProgram(command, /running at/, { cwd: root, env })
  onTestFinished(() => void studio.stop('SIGKILL'))
  return {
    url: `http://127.0.0.1:${port}/`,
    connections: () => readFileSync(connections, 'utf8').split('\n').filter(Boolean),
  }
}

/** Opens a page that reaches only this machine, and records what it requests. */
async function openPage(): Promise<{ page: Page; requested: URL[] }> {
  const browser = await chromium.launchPersistentContext(temporaryFolder(), browserOptions)
  onTestFinished(() => browser.close())
  const isLocal = (address: string) => LOCAL.includes(new URL(address).hostname)
  await browser.route('**/*', (route) => (isLocal(route.request().url()) ? route.continue() : route.abort()))
  const page = await browser.newPage()
  const requested: URL[] = []
  page.on('request', (request) => requested.push(new URL(request.url())))
  return { page, requested }
}
