import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { requireInCi } from './long-tests.ts'

/** Where `client/scripts/install-runtimes.mjs` installs the runtimes and compilers for the tests. */
const folder = fileURLToPath(new URL('../../node_modules/.cache/runtimes/node_modules/', import.meta.url))
const { arch } = process

/** Programs that npm would link with an install script. */
const programs: Record<string, string> = {
  bun: `@oven/bun-linux-${arch === 'arm64' ? 'aarch64' : arch}/bin/bun`,
  deno: `@deno/linux-${arch}-glibc/deno`,
}

/** Returns the path of `bun`, of `deno`, or of a file of an installed package, such as `node-22/bin/node`; undefined if absent. */
export function findRuntime(file: string): string | undefined {
  const found = path.join(folder, programs[file] ?? file.replace(/^node-\d+/, `$&-${arch}`))
  return existsSync(found) ? found : undefined
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
      '`node client/scripts/install-runtimes.mjs`.',
  )
}
