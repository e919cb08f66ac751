/** Builds packages that only tsc compiles: their `dist`, from which the server of the workspace runs as well. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** The compiler, as a script for Node.js. */
export const compiler = path.join(
  path.dirname(createRequire(import.meta.url).resolve('typescript/package.json')),
  'bin/tsc',
)
const root = fileURLToPath(new URL('../', import.meta.url))
/** The packages that are built this way, each after those that it depends on. */
const packages = ['contract', 'prisma', 'server'].map((name) => path.join(root, name))

/** Compiles a package and what it depends on, and says so, or nothing if all is up to date. Throws if that fails. */
export function compilePackage(folder) {
  const build = (stdio, ...options) =>
    execFileSync(process.execPath, [compiler, '--build', 'tsconfig.build.json', ...options], { cwd: folder, stdio })
  const plan = String(build('pipe', '--dry'))
  if (plan.includes('would build')) console.error('Building: about ten seconds, after a change less.')
  if (plan.includes('would')) build('inherit')
  for (const built of packages) if (existsSync(path.join(built, 'dist'))) removeLeftovers(built)
}

/** Removes what tsc made of sources that do not exist any more. The server may be running from the other files. */
function removeLeftovers(folder) {
  const directory = path.join(folder, 'dist')
  for (const types of readdirSync(directory, { recursive: true }).filter((name) => name.endsWith('.d.ts'))) {
    const name = types.slice(0, -'.d.ts'.length)
    if (existsSync(path.join(folder, 'src', `${name}.ts`))) continue
    for (const ending of ['.js', '.js.map', '.d.ts', '.d.ts.map']) {
      rmSync(path.join(directory, name + ending), { force: true })
    }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) compilePackage(process.cwd())
