/** Builds the server with everything that it reads at run time: `dist`, from which it runs installed and in the workspace. */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { compilePackage } from '../../scripts/build-package.mjs'

const folder = path.join(import.meta.dirname, '..')
const main = path.join(folder, 'dist/main.js')
const docs = path.join(folder, 'dist/docs')
const page = path.join(folder, 'src/docs/page')
const swaggerUi = path.dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))

/** Compiles the server, and copies the files of the page /docs. Does nothing, silently, if all is up to date. */
export function buildServer() {
  compilePackage(folder)
  // Only its owner may, and others run it too.
  if ((statSync(main).mode & 0o777) !== 0o755) chmodSync(main, 0o755)
  copyFiles(page, readdirSync(page), path.join(docs, 'page'))
  // Copied, since the package itself would report every installation of the server to its analytics. It is a dependency of the
  // root's package.json, for the audit and the SBOM.
  const files = ['swagger-ui.css', 'swagger-ui-bundle.js', 'swagger-ui-bundle.js.LICENSE.txt', 'LICENSE', 'NOTICE']
  copyFiles(swaggerUi, files, path.join(docs, 'swagger-ui'))
}

/** Copies files. A server may be reading those that have not changed. */
function copyFiles(from, names, to) {
  mkdirSync(to, { recursive: true })
  for (const name of names) {
    const content = readFileSync(path.join(from, name))
    const copy = path.join(to, name)
    if (!existsSync(copy) || !readFileSync(copy).equals(content)) writeFileSync(copy, content)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) buildServer()
