import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** Rewrites `.ts` imports in .d.ts files to `.js`; tsc does so only in .js files. Returns whether any file has changed. */
export function rewriteImportsOfTypes(directory) {
  let hasChanged = false
  for (const name of readdirSync(directory, { recursive: true })) {
    if (!name.endsWith('.d.ts')) continue
    const file = path.join(directory, name)
    const text = readFileSync(file, 'utf8')
    const rewritten = text.replace(/(from '\.[^']*)\.ts'/g, "$1.js'")
    // An unchanged file keeps its time, so that tsc does not build what depends on it again.
    if (rewritten === text) continue
    writeFileSync(file, rewritten)
    hasChanged = true
  }
  return hasChanged
}
