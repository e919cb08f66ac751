import { readFileSync } from 'node:fs'
import type { Browser, Locator, Page } from 'playwright-core'
import { onTestFinished } from 'vitest'

/** An operation on the page, opened. */
export interface DocsOperation {
  /** What the page shows of it, from its heading on. */
  element: Locator
  /** Puts the text in place of the example body. */
  writeBody(body: string): Promise<void>
  execute(): Promise<void>
  /** The last response. */
  response: Locator
  /** Returns its body as the page indents it. */
  responseBody(): Promise<string>
}

/** `/docs` in a browser. */
export interface DocsPage {
  page: Page
  /** The URLs that the page has requested. */
  requested: URL[]
  /** Errors of scripts, and what the Content-Security-Policy blocked. */
  problems: string[]
  authorize(token: string): Promise<void>
  open(operationId: string): Promise<DocsOperation>
}

/** Whose browser it is. */
export interface Viewer {
  /** The width of the window, in pixels; default: 1200. */
  width?: number
  colorScheme?: 'light' | 'dark'
}

/** Opens `/docs`; the page is closed after the test. */
export async function openDocsPage(
  browser: Browser,
  url: string,
  { width = 1200, colorScheme = 'light' }: Viewer = {},
): Promise<DocsPage> {
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme })
  onTestFinished(() => page.close())
  const requested: URL[] = []
  const problems: string[] = []
  page.on('request', (request) => requested.push(new URL(request.url())))
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => {
    if (message.text().includes('Content Security Policy')) problems.push(message.text())
  })
  await page.goto(`${url}/docs`)

  return {
    page,
    requested,
    problems,
    async authorize(token) {
      await page.locator('.schemes').getByRole('button', { name: 'Authorize' }).click()
      const dialog = page.locator('.dialog-ux')
      await dialog.getByRole('textbox').fill(token)
      await dialog.getByRole('button', { name: 'Apply credentials' }).click()
      await dialog.getByRole('button', { name: 'Close' }).last().click()
    },
    async open(operationId) {
      const element = page.locator(`#operations-plants-${operationId}`)
      await element.locator('.opblock-summary-control').click()
      const response = element.locator('.live-responses-table')
      return {
        element,
        writeBody: (body) => element.getByRole('textbox').fill(body),
        async execute() {
          const clear = element.getByRole('button', { name: 'Clear' })
          if (await clear.isVisible()) await clear.click()
          await element.getByRole('button', { name: 'Execute' }).click()
          await response.waitFor()
        },
        response,
        responseBody: async () => String(await response.locator('.highlight-code pre').textContent()),
      }
    },
  }
}

/** Not an import: its types are those of a browser. */
const inPage = readFileSync(new URL('in-page.js', import.meta.url), 'utf8')

/** Returns the visible texts with less contrast than 4.5, the minimum of WCAG 2.2 level AA, with their colors. */
export function findFaintTexts(page: Page): Promise<object[]> {
  return page.evaluate(`(() => { ${inPage}\nreturn findFaintTexts(4.5) })()`)
}

/** Returns the color behind the first element that matches. */
export function backgroundOf(page: Page, selector: string): Promise<string> {
  return page.evaluate(`getComputedStyle(document.querySelector(${JSON.stringify(selector)})).backgroundColor`)
}
