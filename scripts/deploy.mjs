/**
 * Writes what runs in production to a folder that is empty or missing: the built server, its dependencies and nothing else.
 *
 * Usage: npm run deploy -- FOLDER
 */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { fail, run } from './run.mjs'

/** Files that nothing reads in production, each as PACKAGE/PATH. */
const unused = [
  // Other databases, CommonJS, which the generated clients do not load, and runtimes other than Node.js.
  /^@prisma\/client\/runtime\/query_compiler_(?!small_bg\.(?:sqlite|postgresql)\.(?:wasm-base64\.)?mjs$)/,
  /^@prisma\/client\/runtime\/wasm-compiler-edge\./,
  // The sources of SQLite, and SQLite for other operating systems and processors.
  /^better-sqlite3\/(?:deps\/|src\/|binding\.gyp)/,
  new RegExp(`^better-sqlite3/prebuilds/(?!${process.platform}(?:musl)?-${process.arch}\\.node$)`),
  // Source maps, which Node.js ignores by default, types and sources.
  /\.map$/,
  /\.[cm]?ts$/,
  // Documentation, tests and examples.
  /(?<!licen[cs]e)\.(?:md|markdown)$/i,
  /^(?:@[^/]+\/)?[^/]+\/(?:tests?|bench|benchmarks?|examples?)\//,
  // Settings of editors, linters and the compiler; node_modules/.bin.
  /(?:^|\/)\./,
  // What pnpm has read, with paths of this machine.
  /^@plant-store\/server\/pnpm-/,
]

function deploy(folder) {
  if (existsSync(folder) && readdirSync(folder).length > 0) fail(`${folder} is not empty. Name a new folder.`)
  run('npm', ['run', '--silent', 'setup'], 'inherit')
  // Another user than the one who installs runs it.
  process.umask(0o022)
  const draft = makeDraft(folder)
  install(draft)
  prune(draft)
  removePaths(path.join(draft, 'package.json'))
  renameSync(draft, folder)
}

/** Makes a folder next to another one. What is left of it when this process ends is removed. */
function makeDraft(folder) {
  mkdirSync(path.dirname(folder), { recursive: true })
  const draft = mkdtempSync(`${folder}.`)
  chmodSync(draft, 0o755)
  process.once('exit', () => rmSync(draft, { recursive: true, force: true }))
  // Ctrl+C ends the installation, and its failure this process.
  process.once('SIGINT', () => {})
  return draft
}

/** Installs the server and what it depends on, in the versions of the lockfile. */
function install(folder) {
  // Only with injected packages pnpm keeps to the lockfile; copies, since a hard link would be shared with pnpm's store;
  // hoisted, since pnpm's own layout names our packages after the folder of this repository.
  const settings = ['inject-workspace-packages=true', 'package-import-method=copy', 'node-linker=hoisted']
  const options = [...settings.map((setting) => `--config.${setting}`), '--prefer-offline']
  // `pm`: pnpm's own command, not the script of this name.
  const command = ['pm', '--filter', '@plant-store/server', ...options, 'deploy', '--prod', folder]
  run('node', ['scripts/pnpm.mjs', ...command])
}

/** Leaves the dependencies out of a package.json, where pnpm has put paths of this machine: they are installed. */
function removePaths(file) {
  const { dependencies: _, ...manifest } = JSON.parse(readFileSync(file, 'utf8'))
  writeFileSync(file, `${JSON.stringify(manifest, undefined, 2)}\n`)
}

/** Removes the unused files of a deployed tree. */
function prune(root) {
  const pathInPackage = (file) => {
    const segments = path.relative(root, file).split(path.sep)
    const start = segments.lastIndexOf('node_modules')
    return (start < 0 ? ['@plant-store', 'server', ...segments] : segments.slice(start + 1)).join('/')
  }
  for (const entry of readdirSync(root, { withFileTypes: true, recursive: true })) {
    const name = path.join(entry.parentPath, entry.name)
    if (!entry.isDirectory() && unused.some((files) => files.test(pathInPackage(name)))) rmSync(name)
  }
}

const [folder] = process.argv.slice(2)
if (folder === undefined) fail('Usage: npm run deploy -- FOLDER')
// npm runs scripts at the root of the repository and says here where it was called.
deploy(path.resolve(process.env['INIT_CWD'] ?? '.', folder))
