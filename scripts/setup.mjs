/**
 * Sets up the repository on any Node.js from 18 on: installs Node.js if that of the machine is too old, and the packages,
 * generates Prisma Client and builds the server. Skips what is up to date, silently. With `--no-build` it leaves out the
 * build, which running the sources does not need.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fail, root, run, start } from './run.mjs'
import { findNode, linkNode } from './tools.mjs'

const workspace = readFileSync(`${root}pnpm-workspace.yaml`, 'utf8')
const packages = [...workspace.matchAll(/^ {2}- (\S+)$/gm)].map(([, folder]) => folder)

if (root.includes(path.delimiter))
  fail(`The path ${root} has a "${path.delimiter}", which separates folders in PATH: move the clone.`)
const node = findNode()
// What a step starts runs on it, too.
process.env['PATH'] = path.dirname(node) + path.delimiter + process.env['PATH']

const manifests = [
  'package.json',
  'pnpm-lock.yaml',
  'pnpm-workspace.yaml',
  '.pnpmfile.mjs',
  'scripts/pnpm/package-lock.json',
  ...packages.map((folder) => `${folder}/package.json`),
]
const folders = packages.map((folder) => `${folder}/node_modules`)
doOnce('install', { inputs: manifests, outputs: ['node_modules/.pnpm/lock.yaml', ...folders] }, install)
linkNode(node)
const schemas = ['schema', 'postgresql/schema'].map((name) => `prisma/${name}.prisma`)
const inputs = ['pnpm-lock.yaml', 'prisma/prisma.config.ts', ...schemas]
const outputs = ['sqlite', 'postgresql'].map((engine) => `prisma/src/generated/${engine}/client.ts`)
doOnce('generate', { inputs, outputs }, () => run('npm', ['--prefix', 'prisma', 'run', '--silent', 'generate']))
// The compiler finds out itself what has changed, in a tenth of a second, and says so.
if (!process.argv.includes('--no-build')) run(node, ['server/scripts/build.mjs'], ['inherit', 2, 2])

/** Does a step if an input or an output has changed since the last time. Ends the process with exit code 1 if it fails. */
function doOnce(step, { inputs, outputs }, work) {
  const stamp = `${root}node_modules/.cache/set-up/${step}`
  const before = existsSync(stamp) && readFileSync(stamp, 'utf8')
  const current = fingerprint()
  if (current && before === current) return
  rmSync(stamp, { force: true })
  work()
  mkdirSync(path.dirname(stamp), { recursive: true })
  writeFileSync(stamp, fingerprint() ?? '')

  function fingerprint() {
    // Some packages are for one kind of machine.
    const hash = createHash('sha256').update(`${process.platform} ${process.arch}`)
    for (const file of [...inputs, ...outputs]) {
      hash.update(`\n${file}\n`)
      if (!existsSync(root + file)) return undefined
      if (path.extname(file)) hash.update(readFileSync(root + file))
    }
    return hash.digest('hex')
  }
}

function install() {
  console.error('Installing the packages: about half a minute, later a few seconds.')
  // To standard error: standard output is that of the command that needs the set-up.
  run(node, ['scripts/pnpm.mjs', 'install', '--frozen-lockfile', '--prefer-offline'], ['inherit', 2, 2])
  useGitHooks()
}

/** Lets git check what is committed, unless there are other hooks. A worktree has the settings of another checkout. */
function useGitHooks() {
  const git = (...parameters) => start('git', [`--git-dir=${root}.git`, ...parameters])
  const isOwn = statSync(`${root}.git`, { throwIfNoEntry: false })?.isDirectory()
  if (process.env['CI'] || process.env['NODE_ENV'] === 'production' || !isOwn) return
  if (git('config', 'core.hooksPath').status !== 1) return
  const folder = path.resolve(root, git('rev-parse', '--git-path', 'hooks').stdout.trim())
  const hooks = existsSync(folder) ? readdirSync(folder).filter((name) => !name.endsWith('.sample')) : []
  if (hooks.length === 0) git('config', 'core.hooksPath', '.githooks')
}
