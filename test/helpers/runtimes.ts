import { existsSync } from 'node:fs'
import path from 'node:path'
import { requireInCi } from './long-tests.ts'

/** Where `client/scripts/install-runtimes.mjs` installed the runtimes and compilers for the tests. */
const folder = process.env['PLANT_STORE_RUNTIMES']

/** Returns the path of a file of an installed package; undefined if it is absent. */
export function findRuntime(file: string): string | undefined {
  const found = folder && path.join(folder, 'node_modules', file)
  return found && existsSync(found) ? found : undefined
}

const absent: string[] = []

/** Notes what is absent, for {@link explainSkipped}. */
export function noteAbsence(name: string, found: unknown): void {
  requireInCi(name, found)
  if (!found) absent.push(name)
}

/** Prints what was skipped and how to run it. */
export function explainSkipped(): void {
  if (absent.length === 0) return
  console.log(
    `Skipped because not installed: ${absent.join(', ')}. Install all but the browser with ` +
      '`node client/scripts/install-runtimes.mjs FOLDER`, then set PLANT_STORE_RUNTIMES=FOLDER.',
  )
}
