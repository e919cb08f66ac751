/**
 * Builds the server with everything that it reads at run time: `dist`, from which it runs
 * installed and in the workspace.
 */
import { chmodSync, cpSync, statSync } from 'node:fs'
import { root, run } from '../../scripts/run.mjs'

const [server, swaggerUi] = [`${root}server`, `${root}node_modules/swagger-ui-dist`]
const compiler = `${root}node_modules/typescript/bin/tsc`

/** Runs the compiler on the server and what it depends on. */
function compile(stdio, ...options) {
  return run(process.execPath, [compiler, '--build', `${server}/tsconfig.build.json`, ...options], stdio)
}

const plan = compile('pipe', '--dry')
if (plan.includes('would build')) console.error('Building: about ten seconds, after a change less.')
if (plan.includes('would')) compile('inherit')
// Only its owner may, and others run it too.
if ((statSync(`${server}/dist/main.js`).mode & 0o777) !== 0o755) chmodSync(`${server}/dist/main.js`, 0o755)
/** When a file was written, in milliseconds since 1970; undefined: there is none. */
const timeOf = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs
// Only what has changed: another process may read the copy, or make it too.
const filter = (from, to) => statSync(from).isDirectory() || !(timeOf(to) > timeOf(from))
cpSync(`${server}/src/docs/page`, `${server}/dist/docs/page`, { recursive: true, filter })
// Copied, since the package itself would report every installation of the server to its analytics. It is a dependency
// of the root's package.json, for the audit and the SBOM.
const files = ['swagger-ui.css', 'swagger-ui-bundle.js', 'swagger-ui-bundle.js.LICENSE.txt', 'LICENSE', 'NOTICE']
for (const name of files) cpSync(`${swaggerUi}/${name}`, `${server}/dist/docs/swagger-ui/${name}`, { filter })
