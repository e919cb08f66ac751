import { existsSync } from 'node:fs'
import path from 'node:path'
import { requireInCi } from './long-tests.ts'
import { root } from './programs.ts'

/** Where `client/scripts/install-runtimes.mjs` installs the runtimes and compilers for the tests. */
const folder = `${root}node_modules/.cache/runtimes/node_modules/`
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
  const isInstalled = requireInCi(`${file}, which client/scripts/install-runtimes.mjs installs,`, existsSync(found))
  return isInstalled ? found : undefined
}
