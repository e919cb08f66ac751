/** Builds what the package has: `dist`, from which the server of the workspace runs as well. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { rewriteImportsOfTypes } from '../../scripts/rewrite-imports-of-types.mjs'

const folder = fileURLToPath(new URL('..', import.meta.url))
const compiler = path.join(path.dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')

execFileSync(process.execPath, [compiler, '--build', 'tsconfig.build.json'], { cwd: folder, stdio: 'inherit' })
rewriteImportsOfTypes(path.join(folder, 'dist'))
removeLeftovers(path.join(folder, 'dist'))

/** Removes what tsc made of sources that do not exist any more. The server may be running from the other files. */
function removeLeftovers(directory) {
  for (const name of readdirSync(directory, { recursive: true })) {
    const source = name.replace(/\.(js|d\.ts)(\.map)?$/, '.ts')
    if (source !== name && !existsSync(path.join(folder, 'src', source))) rmSync(path.join(directory, name))
  }
}
