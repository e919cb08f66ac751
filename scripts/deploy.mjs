/**
 * Writes what runs in production to a folder that is empty or missing: the built server, its dependencies and nothing else.
 *
 * Usage: npm run deploy -- FOLDER
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { newFolder, run } from './run.mjs'

/** Large files that nothing reads in production, and those of pnpm, with paths of this machine: as paths in the folder. */
const unused = [
  // Other databases, CommonJS, which the generated clients do not load, and runtimes other than Node.js.
  /@prisma\/client\/runtime\/query_compiler_(?!small_bg\.(?:sqlite|postgresql)\.(?:wasm-base64\.)?mjs$)/,
  /@prisma\/client\/runtime\/wasm-compiler-edge\./,
  // Source maps, which Node.js ignores by default, types and sources.
  /\.(?:map|[cm]?ts)$/,
  /(?:^|\/)\.|^pnpm-/,
]

// Another user than the one who installs runs it, so everyone may read it, whatever the umask of the clone was.
process.umask(0o022)
const folder = newFolder('deploy')
// Only with injected packages pnpm keeps to the lockfile; copies, since a hard link would be shared with pnpm's store;
// hoisted, since pnpm's own layout names our packages after the folder of this repository.
const settings = ['inject-workspace-packages=true', 'package-import-method=copy', 'node-linker=hoisted']
const options = [...settings.map((setting) => `--config.${setting}`), '--prefer-offline']
// `pm`: pnpm's own command, not the script of this name.
const command = ['pm', '--filter', '@plant-store/server', ...options, 'deploy', '--prod', folder]
run('node', ['scripts/pnpm.mjs', ...command])
for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
  const file = path.join(entry.parentPath, entry.name)
  const name = path.relative(folder, file).replaceAll('\\', '/')
  if (!entry.isDirectory() && unused.some((files) => files.test(name))) rmSync(file)
}
if (process.platform !== 'win32') run('chmod', ['-R', 'a+rX', folder])
// pnpm has put paths of this machine there.
const manifest = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
writeFileSync(`${folder}/package.json`, `${JSON.stringify({ ...manifest, dependencies: undefined }, undefined, 2)}\n`)
