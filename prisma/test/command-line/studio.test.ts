import { spawn } from 'node:child_process'
import { chromium, type Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { browserOptions, hasBrowser } from '../../../test/helpers/browser.ts'
import { freePort } from '../../../test/helpers/free-port.ts'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { migrateDatabase, openDatabase } from '../../src/index.ts'
import { commandLines } from '../helpers/command-lines.ts'
import { engines, newRole } from '../helpers/engines.ts'
import { packageFolder, prismaCommand, runPrisma } from '../helpers/run.ts'

/** The area of the README's picture, which `SCREENSHOT=FILE` writes. */
const PICTURE = { x: 0, y: 0, width: 1280, height: 340 }

test.skipIf(!hasBrowser('Prisma Studio')).each(isLong ? engines : engines.filter(({ engine }) => engine === 'sqlite'))(
  'Prisma Studio shows the largest id exactly on $engine, and no password to other users',
  { timeout: 120_000 },
  async ({ engine, newDatabase }) => {
    const database = await newDatabase()
    await migrateDatabase(database.url)
    const { plants, close } = await openDatabase(database.url)
    await plants.insert([
      { account: 'alice', id: '9223372036854775807', name: 'Citrus × limon', tag: null },
      { account: 'alice', id: '9007199254740993', name: 'Monstera', tag: null },
    ])
    await close()
    const role = engine === 'postgresql' ? await newRole('keeper', 'SUPERUSER') : undefined

    const page = await openPage()
    await page.goto(await startStudio(role?.as(database.url) ?? database.url))
    await page
      .getByRole('button', { name: 'Plant', exact: true })
      .or(page.getByText('Plant', { exact: true }))
      .first()
      .click()
    await page.getByText('Citrus × limon', { exact: true }).waitFor()

    expect(await page.getByText('9223372036854775807', { exact: true }).count()).toBe(1)
    expect(await page.getByText('9007199254740993', { exact: true }).count()).toBe(1)
    if (process.env['SCREENSHOT'] && engine === 'sqlite')
      await page.screenshot({ path: process.env['SCREENSHOT'], clip: PICTURE })

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
  expect(await database.contents()).toEqual(each.engine === 'sqlite' ? {} : [])
})

test.each([
  ['sslcert=client.pem', 'does not support sslcert in DATABASE_URL: use a password'],
  ['sslrootcert=ca.pem', 'does not support sslrootcert in DATABASE_URL: run it with NODE_EXTRA_CA_CERTS=ca.pem'],
])('studio reports %s, which its driver lacks', { timeout: 60_000 }, async (parameter, message) => {
  const url = `postgresql://127.0.0.1/plants?sslmode=verify-full&${parameter}`
  const { code, stderr } = await runPrisma(['studio', '--browser', 'none'], url)
  expect({ code, stderr }).toEqual({ code: 1, stderr: `Prisma Studio ${message}\n` })
})

/** Starts Studio as `npm run studio` does and returns its URL once it listens. */
async function startStudio(url: string): Promise<string> {
  const port = await freePort()
  const arguments_ = [prismaCommand, 'studio', '--port', String(port), '--browser', 'none']
  const studio = spawn(process.execPath, arguments_, {
    cwd: packageFolder,
    env: { ...process.env, DATABASE_URL: url },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  onTestFinished(() => {
    studio.kill('SIGKILL')
  })
  for await (const chunk of studio.stdout) if (String(chunk).includes('running at')) break
  return `http://127.0.0.1:${port}/`
}

/** Opens a page that reaches only this machine: Studio would report its start to Prisma. */
async function openPage(): Promise<Page> {
  const browser = await chromium.launchPersistentContext(temporaryFolder(), browserOptions)
  onTestFinished(() => browser.close())
  const isLocal = (address: string) => ['127.0.0.1', 'localhost'].includes(new URL(address).hostname)
  await browser.route('**/*', (route) => (isLocal(route.request().url()) ? route.continue() : route.abort()))
  return browser.newPage()
}
