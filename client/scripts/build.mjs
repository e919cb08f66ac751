/** Builds the package with nothing but tsc: `dist/esm` and `dist/cjs`, each with its types and maps. */
import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { compiler } from '../../scripts/build-package.mjs'

const folder = path.join(import.meta.dirname, '..')

process.chdir(folder)
rmSync('dist', { recursive: true, force: true })
for (const config of ['tsconfig.build.json', 'tsconfig.build.cjs.json']) {
  execFileSync(process.execPath, [compiler, '--project', config], { stdio: 'inherit' })
}
// The package's own package.json makes .js files ESM; this one makes them CommonJS.
writeFileSync('dist/cjs/package.json', '{ "type": "commonjs", "sideEffects": false }\n')
