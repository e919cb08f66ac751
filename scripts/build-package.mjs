/** Builds packages that only tsc compiles: their `dist`, from which the server of the workspace runs as well. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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

/** Compiles a package and what it depends on, without a word. Throws if that fails. */
export function compilePackage(folder) {
  const compile = () =>
    execFileSync(process.execPath, [compiler, '--build', 'tsconfig.build.json'], { cwd: folder, stdio: 'inherit' })
  compile()
  // The types of the contract are new to what depends on it, so that it is compiled again: now, and not while it runs.
  if (rewriteImportsOfTypes(path.join(root, 'contract/dist'))) compile()
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

if (process.argv[1] === fileURLToPath(import.meta.url)) compilePackage(process.cwd())
