import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium, type Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { browserOptions, hasBrowser } from '../../../test/helpers/browser.ts'
import { freePort } from '../../../test/helpers/free-port.ts'
import { startProgram } from '../../../test/helpers/start-program.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { openDatabase } from '../../src/index.ts'
import { engines, migrated, newRole } from '../helpers/engines.ts'
import { commandLines, packageFolder, runPrisma } from '../helpers/run.ts'

const LOCAL = ['127.0.0.1', 'localhost']
/** The area of the README's picture, which `SCREENSHOT=FILE` writes. */
const PICTURE = { x: 0, y: 0, width: 1280, height: 340 }

test.skipIf(!hasBrowser('Prisma Studio')).each(engines)(
  'Prisma Studio shows the plants with their exact ids on $engine, contacts no other machine, and shows no password to other users',
  { timeout: 120_000 },
  async ({ engine, newDatabase }) => {
    const database = await migrated(newDatabase())
    const { plants, close } = await openDatabase(database.url)
    await plants.insert([
      { account: 'alice', id: '9223372036854775807', name: 'Citrus × limon', tag: null },
      { account: 'alice', id: '9007199254740993', name: 'Monstera', tag: null },
    ])
    await close()
    const role = engine === 'postgresql' ? await newRole('keeper', 'SUPERUSER') : undefined

    const { page, requested, problems } = await openPage()
    const { url, connections, browsers } = await startStudio(role?.as(database.url) ?? database.url)
    const response = await page.goto(url)
    expect(response?.headers()['content-security-policy']).toContain("frame-ancestors 'none'")
    await page.getByText('Plant', { exact: true }).first().click()
    await page.getByText('Citrus × limon', { exact: true }).waitFor()

    expect(await page.getByText('9223372036854775807', { exact: true }).count()).toBe(1)
    expect(await page.getByText('9007199254740993', { exact: true }).count()).toBe(1)
    if (process.env['SCREENSHOT'] && engine === 'sqlite')
      await page.screenshot({ path: process.env['SCREENSHOT'], clip: PICTURE })

    expect([...new Set(requested.map(({ origin }) => origin))]).toEqual([new URL(url).origin])
    // The page reports its start to Prisma, which the policy keeps from it.
    expect(problems.filter((problem) => !/checkpoint\.prisma\.io|Failed to fetch/.test(problem))).toEqual([])
    expect(connections().filter((host) => !LOCAL.includes(host))).toEqual([])
    expect(browsers()).toEqual([])

    // A reload stays on the table that was chosen.
    await page.getByText('Token', { exact: true }).first().click()
    await page.getByText('expiresAt', { exact: true }).waitFor()
    await page.reload()
    await page.getByText('expiresAt', { exact: true }).waitFor()

    const running = process.platform === 'linux' ? commandLines() : []
    for (const secret of role ? [role.password, encodeURIComponent(role.password)] : [])
      expect(running.filter((line) => line.includes(secret))).toEqual([])
  },
)

test.each(engines)('studio reports a missing database in one line on $engine', { timeout: 60_000 }, async (each) => {
  const database = await each.newDatabase()
  const { code, stdout, stderr } = await runPrisma(['studio', '--browser', 'none'], database.url)
  expect(stderr.startsWith(`${database.name} does not exist`)).toBe(true)
  expect(stderr.trim()).not.toContain('\n')
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(await database.contents()).toEqual({})
})

/** A Studio that listens. */
interface Studio {
  url: string
  /** Returns the hosts that it has connected to. */
  connections(): string[]
  /** Returns the browsers that it has started. */
  browsers(): string[]
}

/** Starts Studio, on a machine without a display. */
async function startStudio(databaseUrl: string): Promise<Studio> {
  const port = await freePort()
  const folder = temporaryFolder()
  const [connections, browsers] = [path.join(folder, 'connections'), path.join(folder, 'browsers')]
  for (const file of [connections, browsers]) writeFileSync(file, '')
  for (const name of ['xdg-open', 'x-www-browser', 'www-browser', 'w3m']) {
    writeFileSync(path.join(folder, name), `#!/bin/sh\necho ${name} >> '${browsers}'\n`, { mode: 0o755 })
  }
  const { DISPLAY, WAYLAND_DISPLAY, WSL_DISTRO_NAME, BROWSER, ...environment } = process.env
  const studio = await startProgram(['npm', 'run', 'studio', '--', '--port', String(port)], /running at/, {
    cwd: path.join(packageFolder, '..'),
    env: {
      ...environment,
      PATH: `${folder}:${environment['PATH']}`,
      DATABASE_URL: databaseUrl,
      NODE_OPTIONS: `--require=${fileURLToPath(new URL('../helpers/report-connections.cjs', import.meta.url))}`,
      CONNECTIONS: connections,
      // Which asks the registry for a newer npm.
      npm_config_update_notifier: 'false',
    },
  })
  onTestFinished(() => void studio.stop('SIGKILL'))
  const linesOf = (file: string) => readFileSync(file, 'utf8').split('\n').filter(Boolean)
  return {
    url: `http://127.0.0.1:${port}/`,
    connections: () => linesOf(connections),
    browsers: () => linesOf(browsers),
  }
}

/** Opens a page that reaches only this machine, and records what it requests. */
async function openPage(): Promise<{ page: Page; requested: URL[]; problems: string[] }> {
  const browser = await chromium.launchPersistentContext(temporaryFolder(), browserOptions)
  onTestFinished(() => browser.close())
  const isLocal = (address: string) => LOCAL.includes(new URL(address).hostname)
  await browser.route('**/*', (route) => (isLocal(route.request().url()) ? route.continue() : route.abort()))
  const page = await browser.newPage()
  const requested: URL[] = []
  page.on('request', (request) => requested.push(new URL(request.url())))
  const problems: string[] = []
  page.on('pageerror', ({ message }) => problems.push(message))
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text())
  })
  return { page, requested, problems }
}
