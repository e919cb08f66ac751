/** What `/docs` does and how it looks: in the dark, on a phone, on a wide screen. */
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { browserOptions, hasBrowser } from '../../../test/helpers/browser.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { generateToken } from '../../src/accounts/token-format.ts'
import {
  backgroundOf,
  type DocsPage,
  findFaintTexts,
  openDocsPage,
  type Viewer,
} from '../helpers/docs/open-docs-page.ts'

const PHONE = 360
const DESKTOP = 1280
const OWN = generateToken()

describe.runIf(hasBrowser('/docs'))('the page', { timeout: 60_000 }, () => {
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

  test('creates and lists plants; an id above 2^53 is sent exactly', async () => {
    const { token } = await server.createToken({ account: 'browser' })
    const { requested, problems, authorize, open } = await openDocsPage(browser, server.url)
    await authorize(token)
    const createPlant = await open('createPlant')
    await createPlant.writeBody('{\n  "id": 9007199254740993,\n  "name": "Monstera deliciosa",\n  "tag": "aroid"\n}')
    await createPlant.execute()
    expect(await createPlant.responseBody()).toBe('{\n  "name": "Monstera deliciosa",\n  "tag": "aroid"\n}')
    expect(await createPlant.element.locator('.curl').textContent()).toContain('"id": 9007199254740993,')

    // If the id were rounded, this would be the same plant.
    await createPlant.writeBody('{"id":9007199254740992,"name":"Ficus lyrata"}')
    await createPlant.execute()
    expect(await createPlant.responseBody()).toBe('{\n  "name": "Ficus lyrata"\n}')
    const same = '{"id":9007199254740993,"name":"Monstera deliciosa","tag":"aroid"}'
    expect((await server.post(same, { token })).status, 'the same plant again adds nothing').toBe(200)

    const getPlants = await open('getPlants')
    await getPlants.execute()
    expect(JSON.parse(await getPlants.responseBody())).toEqual([
      { name: 'Monstera deliciosa', tag: 'aroid' },
      { name: 'Ficus lyrata' },
    ])
    expect(problems).toEqual([])
    expect([...new Set(requested.map(({ origin }) => origin))]).toEqual([server.url])
  })

  test('a response is indented, with its numbers and texts unchanged', async () => {
    const { page, open } = await openDocsPage(browser, server.url)
    const getPlants = await open('getPlants')
    for (const [body, shown] of [
      ['[{"id":9007199254740993},{"id":-1}]', '[\n  {\n    "id": 9007199254740993\n  },\n  {\n    "id": -1\n  }\n]'],
      ['{"a":[], "b":{},"c":[1.50,-2e+10]}', '{\n  "a": [],\n  "b": {},\n  "c": [\n    1.50,\n    -2e+10\n  ]\n}'],
      ['["\\\\\\"{[,:]}",true,null]', '[\n  "\\\\\\"{[,:]}",\n  true,\n  null\n]'],
      ['-9223372036854775808', '-9223372036854775808'],
    ] as const) {
      await page.route('**/plants', (route) => route.fulfill({ body, contentType: 'application/json' }))
      await getPlants.execute()
      expect(await getPlants.responseBody()).toBe(shown)
    }
  })

  test('failures show the message of the service', async () => {
    const { authorize, open } = await openDocsPage(browser, server.url)
    const getPlants = await open('getPlants')
    await getPlants.execute()
    expect(JSON.parse(await getPlants.responseBody())).toMatchObject({ error: 40101 })

    await authorize('pst_mistyped')
    await getPlants.execute()
    expect(await getPlants.response.textContent()).toContain('401')
    expect(JSON.parse(await getPlants.responseBody())).toEqual({
      error: 40102,
      message: expect.stringContaining('token'),
    })
  })

  test.each([
    ['its scheme', (token: string) => `Bearer ${token}`, 'eyJhbGciOiJFUzI1NiJ9.e30.c2ln-bmF0_dXJl'],
    ['the whole header', (token: string) => `authorization: bearer ${token}`, OWN],
    ['the quoted header', (token: string) => `"Authorization: Bearer ${token}"`, OWN],
    ['quotes and spaces', (token: string) => `  '${token}' `, OWN],
    ['the line breaks of a terminal', (token: string) => `${token.slice(0, 20)}\n${token.slice(20)}\n`, OWN],
  ])('a token that is pasted with %s is sent as the token alone', async (_with, paste, token) => {
    const { authorize, open } = await openDocsPage(browser, server.url)
    await authorize(paste(token))
    const getPlants = await open('getPlants')
    await getPlants.execute()
    expect(await getPlants.element.locator('.curl').textContent()).toContain(`'Authorization: Bearer ${token}'`)
  })

  test('calls the server it was loaded from, not PUBLIC_URL', async () => {
    await using other = await startTestServer({ publicUrl: 'https://plants.example.com' })
    const { authorize, open } = await openDocsPage(browser, other.url)
    await authorize(other.token)
    const getPlants = await open('getPlants')
    await getPlants.execute()
    expect(await getPlants.responseBody()).toBe('[]')
  })

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

  test.each([PHONE, DESKTOP])('fits, %i pixels wide', async (width) => {
    const { page } = await openExecuted({ width })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
    // Error numbers and statuses stay in one line, and meanings have most of the width.
    const [error, status, meaning] = await page.locator('.info tbody tr').first().locator('td').all()
    const lineHeight = (await status?.boundingBox())?.height
    expect((await error?.boundingBox())?.height).toBe(lineHeight)
    expect((await meaning?.boundingBox())?.width).toBeGreaterThan(width * 0.4)
  })

  test('shows the command on a phone in several lines, which are copied as one', async () => {
    const { page } = await openDocsPage(browser, server.url, { width: PHONE })
    expect((await page.locator('header code').boundingBox())?.height).toBeGreaterThan(30)
    const copy = "getSelection().selectAllChildren(document.querySelector('header code')); getSelection().toString()"
    expect(await page.evaluate(copy)).toBe('npm run --silent plant-store -- token create --account NAME')
  })
})
