import { existsSync } from 'node:fs'
import { requireInCi } from './long-tests.ts'

/** The path of Chromium or Chrome; undefined if neither is installed. */
export const browserPath = requireInCi('Chromium', ['/usr/bin/chromium', '/usr/bin/google-chrome'].find(existsSync))

/** How tests start the browser: as root too, and without requests of its own. */
export const browserOptions = {
  executablePath: String(browserPath),
  args: [
    ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
    ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
  ],
}
