/**
 * Writes what runs in production to a folder that is empty or missing: the built server, its dependencies and nothing else.
 *
 * Usage: npm run deploy -- FOLDER
 */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** Files that nothing reads in production, each as PACKAGE/PATH. */
const unused = [
  {
    files: /^@prisma\/client\/runtime\/query_compiler_(?!fast_bg\.(?:sqlite|postgresql)\.(?:wasm-base64\.)?mjs$)/,
    why: 'other databases, and CommonJS, which the generated clients do not load',
  },
  { files: /^@prisma\/client\/runtime\/wasm-compiler-edge\./, why: 'runtimes other than Node.js' },
  { files: /^better-sqlite3\/(?:deps\/|src\/|binding\.gyp)/, why: 'the sources of SQLite' },
  {
    files: new RegExp(`^better-sqlite3/prebuilds/(?!${process.platform}(?:musl)?-${process.arch}\\.node$)`),
    why: 'SQLite for other operating systems and processors',
  },
  { files: /\.map$/, why: 'source maps, which Node.js ignores by default' },
  { files: /\.[cm]?ts$/, why: 'types and sources' },
  { files: /(?<!licen[cs]e)\.(?:md|markdown)$/i, why: 'documentation' },
  { files: /^(?:@[^/]+\/)?[^/]+\/(?:tests?|bench|benchmarks?|examples?)\//, why: 'tests and examples' },
  { files: /(?:^|\/)\./, why: 'settings of editors, linters and the compiler; node_modules/.bin' },
  { files: /^@plant-store\/server\/pnpm-/, why: 'what pnpm has read, with paths of this machine' },
]

function deploy(folder) {
  if (existsSync(folder) && readdirSync(folder).length > 0) fail(`${folder} is not empty. Name a new folder.`)
  const { status } = spawnSync('npm', ['run', '--silent', 'setup'], {
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  if (status !== 0) process.exit(1)
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
  const pnpm = fileURLToPath(new URL('pnpm.mjs', import.meta.url))
  // Only with injected packages pnpm keeps to the lockfile; copies, since a hard link would be shared with pnpm's store;
  // hoisted, since pnpm's own layout names our packages after the folder of this repository.
  const settings = { 'inject-workspace-packages': true, 'package-import-method': 'copy', 'node-linker': 'hoisted' }
  const options = Object.entries(settings).map(([name, value]) => `--config.${name}=${value}`)
  // `pm`: pnpm's own command, not the script of this name.
  const parameters = [
    pnpm,
    'pm',
    '--filter',
    '@plant-store/server',
    ...options,
    '--prefer-offline',
    'deploy',
    '--prod',
    folder,
  ]
  const { status, stdout, stderr } = spawnSync('node', parameters, {
    cwd: fileURLToPath(new URL('../', import.meta.url)),
    encoding: 'utf8',
  })
  if (status !== 0) fail(`${stdout}${stderr}Installing the server in ${folder} failed.`)
}

/** Names our packages by their version in a package.json, where pnpm has put paths of this machine. */
function removePaths(file) {
  const manifest = JSON.parse(readFileSync(file, 'utf8'))
  for (const name of Object.keys(manifest.dependencies)) {
    if (name.startsWith('@plant-store/')) manifest.dependencies[name] = manifest.version
  }
  writeFileSync(file, `${JSON.stringify(manifest, undefined, 2)}\n`)
}

/** Removes the unused files of a deployed tree. */
function prune(root) {
  for (const entry of readdirSync(root, { withFileTypes: true, recursive: true })) {
    const file = path.join(entry.parentPath, entry.name)
    if (!entry.isDirectory() && unused.some(({ files }) => files.test(pathInPackage(file)))) rmSync(file)
  }
  removeEmptyFolders(root)

  function pathInPackage(file) {
    const segments = path.relative(root, file).split(path.sep)
    const start = segments.lastIndexOf('node_modules')
    return (start < 0 ? ['@plant-store', 'server', ...segments] : segments.slice(start + 1)).join('/')
  }
}

function removeEmptyFolders(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) removeEmptyFolders(path.join(folder, entry.name))
  }
  if (readdirSync(folder).length === 0) rmdirSync(folder)
}

function fail(message) {
  console.error(message)
  process.exit(1)
}

const [folder] = process.argv.slice(2)
if (folder === undefined) fail('Usage: npm run deploy -- FOLDER')
// npm runs scripts at the root of the repository and says here where it was called.
deploy(path.resolve(process.env['INIT_CWD'] ?? '.', folder))
