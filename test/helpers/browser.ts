import { existsSync } from 'node:fs'
import { requireInCi } from './long-tests.ts'

/** The path of Chromium or Chrome; undefined if neither is installed. */
const browserPath = ['/usr/bin/chromium', '/usr/bin/google-chrome'].find(existsSync)

/** How tests start the browser: as root too, and without requests of its own. */
export const browserOptions = {
  executablePath: String(browserPath),
  args: [
    ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
    ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
  ],
}

/** Returns whether there is a browser to test with; if not, prints what is skipped. */
export function hasBrowser(leftOut: string): boolean {
  requireInCi('Chromium', browserPath)
  if (!browserPath) console.log(`Skipped: ${leftOut} in a browser, because there is none (apt-get install chromium)`)
  return browserPath !== undefined
}
