/** Builds the package with nothing but tsc: `dist/esm` and `dist/cjs`, each with its types and maps. */
import { rmSync, writeFileSync } from 'node:fs'
import { root, run } from '../../scripts/run.mjs'

const client = `${root}client`

rmSync(`${client}/dist`, { recursive: true, force: true })
for (const config of ['tsconfig.build.json', 'tsconfig.build.cjs.json']) {
  run(process.execPath, [`${root}node_modules/typescript/bin/tsc`, '--project', `${client}/${config}`], 'inherit')
}
// The package's own package.json makes .js files ESM; this one makes them CommonJS.
writeFileSync(`${client}/dist/cjs/package.json`, '{ "type": "commonjs", "sideEffects": false }\n')
