import { readdirSync, symlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { findRuntime } from './runtimes.ts'
import { temporaryFolder } from './temporary.ts'

/** What compiles native code: a machine may have none of it. */
const COMPILERS = /^(?:python|pypy|make$|gmake$|cc$|c\+\+$|gcc|g\+\+|cpp|clang|.*-(?:gcc|g\+\+|cpp))/
/** What a machine may have next to Node.js, in another version. */
const NODE = /^(?:node|nodejs|npm|npx|pnpm|pnpx|corepack)$/

/** How a newcomer's machine trusts the registry, where that needs a certificate of its own. */
export const TRUST: Record<string, string> = process.env['NODE_EXTRA_CA_CERTS']
  ? { NODE_EXTRA_CA_CERTS: process.env['NODE_EXTRA_CA_CERTS'] }
  : {}

/** Where pnpm has what the set-up of this repository downloaded, as .ci/run does without any cache. */
export const STORE = { pnpm_config_store_dir: path.join(homedir(), '.local/share/pnpm/store') }

/**
 * Returns the PATH of a machine with Node.js and npm, in the versions of the given packages of the runtimes (such as `node-22`
 * and `npm-11`), the system's programs, and nothing that compiles; undefined if they are not installed.
 */
export function bareMachine(node: string, npm: string): string | undefined {
  const programs = {
    node: findRuntime(`${node}/bin/node`),
    npm: findRuntime(`${npm}/bin/npm-cli.js`),
    npx: findRuntime(`${npm}/bin/npx-cli.js`),
  }
  if (Object.values(programs).includes(undefined)) return undefined
  const folder = temporaryFolder()
  for (const name of readdirSync('/usr/bin')) {
    if (!COMPILERS.test(name) && !NODE.test(name)) symlinkSync(`/usr/bin/${name}`, path.join(folder, name))
  }
  for (const [name, program] of Object.entries(programs)) symlinkSync(String(program), path.join(folder, name))
  return folder
}
