/** What `/docs` does in a browser. */
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { browserOptions, browserPath } from '../../../test/helpers/browser.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'

describe.runIf(browserPath)('the page', () => {
  let server: TestServer
  let browser: Browser
  beforeAll(async () => {
    // The page calls the server it was loaded from instead.
    server = await startTestServer({ publicUrl: 'https://plants.example.com' })
    browser = await chromium.launch(browserOptions)
  })
  afterAll(() => browser.close())

  /** Opens the page until the end of the test, enters a token, and collects what the page requests and what fails. */
  async function openPage(token: string) {
    const page = await browser.newPage()
    onTestFinished(() => page.close())
    const origins = new Set<string>()
    /** Errors of scripts, and what the Content-Security-Policy blocked. */
    const problems: string[] = []
    page.on('request', (request) => origins.add(new URL(request.url()).origin))
    page.on('pageerror', (error) => problems.push(error.message))
    page.on('console', (message) => {
      if (message.text().includes('Content Security Policy')) problems.push(message.text())
    })
    await page.goto(`${server.url}/docs`)
    await page.locator('.schemes').getByRole('button', { name: 'Authorize' }).click()
    const dialog = page.locator('.dialog-ux')
    await dialog.getByRole('textbox').fill(token)
    await dialog.getByRole('button', { name: 'Apply credentials' }).click()
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    return { page, origins, problems }
  }

  test('creates and lists plants; an int64 above 2^53 is sent exactly, and shown as it arrived', async () => {
    const { token } = await server.createToken({ account: 'browser' })
    const { page, origins, problems } = await openPage(token)
    const plant = '{\n  "id": 9007199254740993,\n  "name": "Monstera deliciosa",\n  "tag": "aroid"\n}'
    const created = await execute(page, 'createPlant', plant)
    expect(created.body).toBe('{\n  "name": "Monstera deliciosa",\n  "tag": "aroid"\n}')
    expect(created.curl).toContain('"id": 9007199254740993,')
    expect(await page.locator('#operations-plants-createPlant').textContent()).toContain('client.createPlant({')

    // If the id were rounded, this would be the same plant.
    expect((await server.post('{"id":9007199254740992,"name":"Ficus lyrata"}', { token })).status).toBe(200)
    expect(JSON.parse((await execute(page, 'getPlants')).body)).toHaveLength(2)
    const text = '[{"id":9007199254740993,"ratio":1.0}]'
    await page.route('**/plants', (route) => route.fulfill({ contentType: 'application/json', body: text }))
    expect((await execute(page, 'getPlants')).body).toBe(text)
    expect(problems).toEqual([])
    expect([...origins]).toEqual([server.url])
  })
})

/** Opens an operation, or clears it, executes it with a body, if it has one, and returns what the page then shows. */
async function execute(page: Page, operationId: string, body?: string) {
  const operation = page.locator(`#operations-plants-${operationId}`)
  const clear = operation.getByRole('button', { name: 'Clear' })
  if (await clear.isVisible()) await clear.click()
  else await operation.locator('.opblock-summary-control').click()
  if (body !== undefined) await operation.getByRole('textbox').fill(body)
  await operation.getByRole('button', { name: 'Execute' }).click()
  const textOf = async (selector: string) => String(await operation.locator(selector).textContent())
  return { curl: await textOf('.curl'), body: await textOf('.live-responses-table .highlight-code pre') }
}
