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

/**
 * Returns the path of `bun`, of `deno`, or of a file of an installed package, such as `node-22/bin/node`; undefined, with a line
 * that says so, if it is absent.
 *
 * @throws Error in CI, if it is absent
 */
export function findRuntime(file: string): string | undefined {
  const found = path.join(folder, programs[file] ?? file.replace(/^node-\d+/, `$&-${arch}`))
  if (existsSync(found)) return found
  requireInCi(file, false)
  console.log(`Tests with ${file} are skipped (node client/scripts/install-runtimes.mjs installs it)`)
  return undefined
}
