import { existsSync } from 'node:fs'

/** The path of Chromium or Chrome; undefined where there is none. */
export const browserPath = ['/usr/bin/chromium', '/usr/bin/google-chrome'].find(existsSync)

/** How tests start the browser: it runs as root too, and asks nobody on its own. */
export const browserOptions = {
  executablePath: String(browserPath),
  args: [
    ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
    ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
  ],
}

/** Whether there is a browser to test with. Where there is none, it says what is left out. */
export function hasBrowser(leftOut: string): boolean {
  if (!browserPath) console.log(`Skipped: ${leftOut} in a browser, because there is none (apt-get install chromium)`)
  return browserPath !== undefined
}
