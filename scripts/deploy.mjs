/**
 * Writes what runs in production to a folder that is empty or missing: the built server, its dependencies and nothing else.
 *
 * Usage: npm run deploy -- FOLDER
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fail, run } from './run.mjs'

/** Large files that nothing reads in production, and those of pnpm, with paths of this machine: as paths in the folder. */
const unused = [
  // Other databases, CommonJS, which the generated clients do not load, and runtimes other than Node.js.
  /@prisma\/client\/runtime\/query_compiler_(?!small_bg\.(?:sqlite|postgresql)\.(?:wasm-base64\.)?mjs$)/,
  /@prisma\/client\/runtime\/wasm-compiler-edge\./,
  // The sources of SQLite, and SQLite for other operating systems and processors.
  /better-sqlite3\/(?:deps|src)\//,
  new RegExp(`better-sqlite3/prebuilds/(?!${process.platform}(?:musl)?-${process.arch}\\.node$)`),
  // Source maps, which Node.js ignores by default, types and sources.
  /\.(?:map|[cm]?ts)$/,
  /(?:^|\/)\.|^pnpm-/,
]

const [argument] = process.argv.slice(2)
if (argument === undefined) fail('Usage: npm run deploy -- FOLDER')
// npm runs scripts at the root of the repository and says here where it was called.
const folder = path.resolve(process.env['INIT_CWD'] ?? '.', argument)
if (existsSync(folder) && readdirSync(folder).length > 0) fail(`${folder} is not empty. Name a new folder.`)
// Another user than the one who installs runs it.
process.umask(0o022)
install()
for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
  const file = path.join(entry.parentPath, entry.name)
  const name = path.relative(folder, file).replaceAll('\\', '/')
  if (!entry.isDirectory() && unused.some((files) => files.test(name))) rmSync(file)
}
// pnpm has put paths of this machine there.
const manifest = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
writeFileSync(`${folder}/package.json`, `${JSON.stringify({ ...manifest, dependencies: undefined }, undefined, 2)}\n`)

/** Installs the server and what it depends on, in the versions of the lockfile. */
function install() {
  // Only with injected packages pnpm keeps to the lockfile; copies, since a hard link would be shared with pnpm's store;
  // hoisted, since pnpm's own layout names our packages after the folder of this repository.
  const settings = ['inject-workspace-packages=true', 'package-import-method=copy', 'node-linker=hoisted']
  const options = [...settings.map((setting) => `--config.${setting}`), '--prefer-offline']
  // `pm`: pnpm's own command, not the script of this name.
  const command = ['pm', '--filter', '@plant-store/server', ...options, 'deploy', '--prod', folder]
  run('node', ['scripts/pnpm.mjs', ...command])
}
