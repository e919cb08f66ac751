/** How `/docs` looks: in the dark, on a phone, on a wide screen. */
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { browserOptions, hasBrowser } from '../../../test/helpers/browser.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { backgroundOf, copyOf, findFaintTexts, findWideElements, linesOf } from '../helpers/docs/measure-page.ts'
import { type DocsPage, openDocsPage, type Viewer } from '../helpers/docs/open-docs-page.ts'

const PHONE = 360
const DESKTOP = 1280

describe.runIf(hasBrowser('how /docs looks'))('the page', { timeout: 60_000 }, () => {
  let server: TestServer
  let browser: Browser
  beforeAll(async () => {
    server = await startTestServer()
    browser = await chromium.launch(browserOptions)
  })
  afterAll(async () => {
    await browser.close()
    await server.close()
  })

  /** Opens the page with both operations open and executed. */
  async function openExecuted(viewer: Viewer): Promise<DocsPage> {
    const docs = await openDocsPage(browser, server.url, viewer)
    await docs.authorize(server.token)
    for (const operation of ['createPlant', 'getPlants']) await (await docs.open(operation)).execute()
    return docs
  }

  test.each([PHONE, DESKTOP])('is dark where the system is, and every text readable, %i pixels wide', async (width) => {
    const { page, problems } = await openExecuted({ width, colorScheme: 'dark' })
    await expect.poll(() => findFaintTexts(page)).toEqual([])
    expect(await backgroundOf(page, 'body')).toBe('rgb(28, 32, 34)')
    expect(await backgroundOf(page, '.curl')).toBe('rgb(42, 46, 48)')
    expect(await backgroundOf(page, '.info table')).toBe('rgb(13, 16, 20)')
    await page.locator('.schemes').getByRole('button', { name: 'Authorize' }).click()
    await expect.poll(() => findFaintTexts(page)).toEqual([])
    expect(problems).toEqual([])

    await page.emulateMedia({ colorScheme: 'light' })
    await expect.poll(() => backgroundOf(page, 'body')).toBe('rgb(250, 250, 250)')
  })

  test('is dark before the scripts that draw it have run', async () => {
    const page = await browser.newPage({ colorScheme: 'dark' })
    onTestFinished(() => page.close())
    await page.route(/bundle|page\.js/, (route) => route.abort())
    await page.goto(`${server.url}/docs`)
    expect(await backgroundOf(page, 'body')).toBe('rgb(28, 32, 34)')
  })

  test.each([PHONE, DESKTOP])('fits, with nothing cut off, %i pixels wide', async (width) => {
    const { page } = await openExecuted({ width })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
    expect(await findWideElements(page)).toEqual([])
    // Error numbers and statuses stay in one line, and meanings have most of the width.
    const [error, status, meaning] = await page.locator('.info tbody tr').first().locator('td').all()
    const lineHeight = (await status?.boundingBox())?.height
    expect((await error?.boundingBox())?.height).toBe(lineHeight)
    expect((await meaning?.boundingBox())?.width).toBeGreaterThan(width * 0.4)
  })

  test('shows the command on a phone in lines that break between its parts, and copies it as one line', async () => {
    const { page } = await openDocsPage(browser, server.url, { width: PHONE })
    const lines = ['npm run --silent plant-store --', 'token create --account NAME']
    expect(await linesOf(page, 'header code')).toEqual(lines)
    expect(await copyOf(page, 'header code')).toBe(lines.join(' '))
  })
})
