/** What `/docs` does and how it looks: in the dark, on a phone, on a wide screen. */
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { browserOptions, hasBrowser } from '../../../test/helpers/browser.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { generateToken } from '../../src/accounts/tokens.ts'

const PHONE = 360
const DESKTOP = 1280
const OWN = generateToken()

describe.runIf(hasBrowser('/docs'))('the page', () => {
  let server: TestServer
  let browser: Browser
  beforeAll(async () => {
    // The page calls the server it was loaded from instead.
    server = await startTestServer({ publicUrl: 'https://plants.example.com' })
    browser = await chromium.launch(browserOptions)
  })
  afterAll(async () => {
    await browser.close()
    await server.close()
  })

  /** Opens the page until the end of the test, and collects what it requests and what fails. */
  async function openPage(options: BrowserContextOptions = {}) {
    const page = await browser.newPage({ viewport: { width: DESKTOP, height: 900 }, ...options })
    onTestFinished(() => page.close())
    const requested: URL[] = []
    /** Errors of scripts, and what the Content-Security-Policy blocked. */
    const problems: string[] = []
    page.on('request', (request) => requested.push(new URL(request.url())))
    page.on('pageerror', (error) => problems.push(error.message))
    page.on('console', (message) => {
      if (message.text().includes('Content Security Policy')) problems.push(message.text())
    })
    await page.goto(`${server.url}/docs`)
    return { page, requested, problems }
  }

  test('creates and lists plants; an id above 2^53 is sent exactly', async () => {
    const { token } = await server.createToken({ account: 'browser' })
    const { page, requested, problems } = await openPage()
    await authorize(page, token)
    const createPlant = await openOperation(page, 'createPlant')
    await createPlant.writeBody('{\n  "id": 9007199254740993,\n  "name": "Monstera deliciosa",\n  "tag": "aroid"\n}')
    await createPlant.execute()
    expect(await createPlant.responseBody()).toBe('{\n  "name": "Monstera deliciosa",\n  "tag": "aroid"\n}')
    expect(await createPlant.element.locator('.curl').textContent()).toContain('"id": 9007199254740993,')

    // If the id were rounded, this would be the same plant.
    expect((await server.post('{"id":9007199254740992,"name":"Ficus lyrata"}', { token })).status).toBe(200)
    const getPlants = await openOperation(page, 'getPlants')
    await getPlants.execute()
    expect(JSON.parse(await getPlants.responseBody())).toHaveLength(2)
    expect(problems).toEqual([])
    expect([...new Set(requested.map(({ origin }) => origin))]).toEqual([server.url])
  })

  test('failures show the message of the service', async () => {
    const { page } = await openPage()
    await authorize(page, 'pst_mistyped')
    const getPlants = await openOperation(page, 'getPlants')
    await getPlants.execute()
    expect(await getPlants.response.textContent()).toContain('401')
    expect(JSON.parse(await getPlants.responseBody())).toMatchObject({ error: 40102 })
  })

  test.each([
    ['its scheme', (token: string) => `Bearer ${token}`, 'eyJhbGciOiJFUzI1NiJ9.e30.c2ln-bmF0_dXJl'],
    ['the quoted header', (token: string) => ` "authorization: bearer ${token}"`, OWN],
    ['the line breaks of a terminal', (token: string) => `${token.slice(0, 20)}\n${token.slice(20)}\n`, OWN],
  ])('a token that is pasted with %s is sent as the token alone', async (_with, paste, token) => {
    const { page } = await openPage()
    await authorize(page, paste(token))
    const getPlants = await openOperation(page, 'getPlants')
    await getPlants.execute()
    expect(await getPlants.element.locator('.curl').textContent()).toContain(`'Authorization: Bearer ${token}'`)
  })

  test.each([PHONE, DESKTOP])('fits, and is dark where the system is, %i pixels wide', async (width) => {
    const { page, problems } = await openPage({ viewport: { width, height: 900 }, colorScheme: 'dark' })
    await authorize(page, server.token)
    const createPlant = await openOperation(page, 'createPlant')
    await createPlant.writeBody('{"id": 1, "name": "Ficus"}')
    await createPlant.execute()
    await (await openOperation(page, 'getPlants')).execute()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
    expect(await backgroundOf(page, 'body')).toBe('rgb(28, 32, 34)')
    expect(await backgroundOf(page, '.curl')).toBe('rgb(42, 46, 48)')
    expect(await backgroundOf(page, '.info table')).toBe('rgb(13, 16, 20)')
    expect(problems).toEqual([])

    await page.emulateMedia({ colorScheme: 'light' })
    await expect.poll(() => backgroundOf(page, 'body')).toBe('rgb(250, 250, 250)')
  })
})

/** Enters a token. */
async function authorize(page: Page, token: string): Promise<void> {
  await page.locator('.schemes').getByRole('button', { name: 'Authorize' }).click()
  const dialog = page.locator('.dialog-ux')
  await dialog.getByRole('textbox').fill(token)
  await dialog.getByRole('button', { name: 'Apply credentials' }).click()
  await dialog.getByRole('button', { name: 'Close' }).last().click()
}

/** Opens an operation. */
async function openOperation(page: Page, operationId: string) {
  const element = page.locator(`#operations-plants-${operationId}`)
  await element.locator('.opblock-summary-control').click()
  const response = element.locator('.live-responses-table')
  return {
    element,
    writeBody: (body: string) => element.getByRole('textbox').fill(body),
    async execute() {
      const clear = element.getByRole('button', { name: 'Clear' })
      if (await clear.isVisible()) await clear.click()
      await element.getByRole('button', { name: 'Execute' }).click()
      await response.waitFor()
    },
    response,
    /** Returns the body of the last response as the page indents it. */
    responseBody: async () => String(await response.locator('.highlight-code pre').textContent()),
  }
}

/** Returns the color behind the first element that matches. */
function backgroundOf(page: Page, selector: string): Promise<string> {
  return page.evaluate(`getComputedStyle(document.querySelector(${JSON.stringify(selector)})).backgroundColor`)
}
