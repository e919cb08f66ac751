import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'

/** Not an import: its types are those of a browser. */
const source = readFileSync(new URL('in-page.js', import.meta.url), 'utf8')

/** A text whose color is too close to what is behind it. */
interface FaintText {
  text: string
  color: string
  contrast: number
}

/** Returns the visible texts with less contrast than 4.5, the minimum of WCAG 2.2 level AA. */
export function findFaintTexts(page: Page): Promise<FaintText[]> {
  return run(page, 'findFaintTexts', 4.5)
}

/** Returns the elements that are cut off at the right, or make the page scroll to the side. */
export function findWideElements(page: Page): Promise<string[]> {
  return run(page, 'findWideElements')
}

/** Returns the text of an element in the lines that it is shown in. */
export function linesOf(page: Page, selector: string): Promise<string[]> {
  return run(page, 'linesOf', selector)
}

/** Returns what is copied when an element is selected. */
export function copyOf(page: Page, selector: string): Promise<string> {
  return run(page, 'copyOf', selector)
}

/** Returns the color behind the first element that matches. */
export function backgroundOf(page: Page, selector: string): Promise<string> {
  return run(page, 'backgroundOf', selector)
}

function run<Result>(page: Page, name: string, ...args: unknown[]): Promise<Result> {
  return page.evaluate(`(() => { ${source}\nreturn inPage.${name}(...${JSON.stringify(args)}) })()`)
}
