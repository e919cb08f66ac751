import { existsSync } from 'node:fs'
import path from 'node:path'

/** Where `client/scripts/install-runtimes.mjs` has installed what the package is tested with. */
const folder = process.env['PLANT_STORE_RUNTIMES']

/** The path of a file of one of the packages that are installed there; undefined where it is absent. */
export function findRuntime(file: string): string | undefined {
  const found = folder && path.join(folder, 'node_modules', file)
  return found && existsSync(found) ? found : undefined
}

const absent: string[] = []

/** Remembers what is absent, for {@link explainSkipped}. */
export function noteAbsence(name: string, found: unknown): void {
  if (!found) absent.push(name)
}

/** Says which tests are skipped and what to do about it. */
export function explainSkipped(): void {
  if (absent.length === 0) return
  console.log(
    `Skipped, since they are not installed: ${absent.join(', ')}. All but a browser come with ` +
      '`node client/scripts/install-runtimes.mjs FOLDER`; set PLANT_STORE_RUNTIMES=FOLDER.',
  )
}
