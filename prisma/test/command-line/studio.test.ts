import { spawn } from 'node:child_process'
import { chromium, type Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { browserOptions, hasBrowser } from '../../../test/helpers/browser.ts'
import { freePort } from '../../../test/helpers/free-port.ts'
import { temporaryDatabase, temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { migrateDatabase, openDatabase } from '../../src/index.ts'
import { packageFolder, prismaCommand } from '../helpers/run.ts'

/** The area of the README's picture, which `SCREENSHOT=FILE` writes. */
const PICTURE = { x: 0, y: 0, width: 1280, height: 340 }

test.skipIf(!hasBrowser('Prisma Studio'))(
  'Prisma Studio shows the largest id exactly',
  { timeout: 120_000 },
  async () => {
    const { url } = temporaryDatabase()
    await migrateDatabase(url)
    const { plants, close } = await openDatabase(url)
    await plants.insert([
      { account: 'alice', id: '9223372036854775807', name: 'Citrus × limon', tag: null },
      { account: 'alice', id: '9007199254740993', name: 'Monstera', tag: null },
    ])
    await close()

    const page = await openPage()
    await page.goto(await startStudio(url))
    await page
      .getByRole('button', { name: 'Plant', exact: true })
      .or(page.getByText('Plant', { exact: true }))
      .first()
      .click()
    await page.getByText('Citrus × limon', { exact: true }).waitFor()

    expect(await page.getByText('9223372036854775807', { exact: true }).count()).toBe(1)
    expect(await page.getByText('9007199254740993', { exact: true }).count()).toBe(1)
    if (process.env['SCREENSHOT']) await page.screenshot({ path: process.env['SCREENSHOT'], clip: PICTURE })
  },
)

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
