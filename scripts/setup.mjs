/**
 * Sets up the repository on any Node.js from 18 on: installs Node.js if that of the machine is too old, and the packages,
 * generates Prisma Client and builds the server. Skips what is up to date, silently. With `--no-build` it leaves out the
 * build, which running the sources does not need.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { findNode, linkNode } from './node.mjs'

const root = fileURLToPath(new URL('../', import.meta.url))
const workspace = readFileSync(`${root}pnpm-workspace.yaml`, 'utf8')
const packages = [...workspace.matchAll(/^ {2}- (\S+)$/gm)].map(([, folder]) => folder)

const node = findNode()
// What a step starts runs on it, too.
process.env['PATH'] = path.dirname(node) + path.delimiter + process.env['PATH']

/** Does each step that is not up to date. Ends the process with exit code 1 if one fails. */
function setUp({ build }) {
  const manifests = ['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml', '.pnpmfile.mjs']
  for (const folder of packages) manifests.push(`${folder}/package.json`)
  const folders = packages.map((folder) => `${folder}/node_modules`)
  doOnce('install', { inputs: manifests, outputs: ['node_modules/.pnpm/lock.yaml', ...folders] }, install)
  linkNode(node)
  const schema = [
    'pnpm-lock.yaml',
    'prisma/schema.prisma',
    'prisma/postgresql/schema.prisma',
    'prisma/prisma.config.ts',
  ]
  doOnce(
    'generate',
    { inputs: schema, outputs: ['prisma/src/generated/sqlite/client.ts', 'prisma/src/generated/postgresql/client.ts'] },
    () => {
      run('npm', ['--prefix', 'prisma', 'run', '--silent', 'generate'])
    },
  )
  // The compiler finds out itself what has changed, in a tenth of a second.
  if (build) run(node, ['server/scripts/build.mjs'])
}

/** Does a step if an input or an output has changed since the last time. */
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
  run(node, ['scripts/pnpm.mjs', 'install', '--frozen-lockfile', '--prefer-offline'], 'inherit')
  useGitHooks()
}

/** Lets git format what is committed, unless there are other hooks. */
function useGitHooks() {
  const git = (...parameters) => spawnSync('git', parameters, { cwd: root, encoding: 'utf8' })
  if (process.env['CI'] || process.env['NODE_ENV'] === 'production' || !existsSync(`${root}.git`)) return
  if (git('config', 'core.hooksPath').status !== 1) return
  const folder = path.resolve(root, git('rev-parse', '--git-path', 'hooks').stdout.trim())
  const hooks = existsSync(folder) ? readdirSync(folder).filter((name) => !name.endsWith('.sample')) : []
  if (hooks.length === 0) git('config', 'core.hooksPath', '.githooks')
}

/** Runs a program of a step. Ends this process with exit code 1 if it fails, showing what it has printed. */
function run(program, parameters, stdio = 'pipe') {
  // On Windows npm is a script, which only a shell runs; the path of Node.js may have a space, which a shell splits.
  const shell = process.platform === 'win32' && program !== node
  const { status, error, stdout, stderr } = spawnSync(program, parameters, {
    cwd: root,
    stdio,
    encoding: 'utf8',
    shell,
  })
  if (status === 0) return
  console.error([stdout, stderr, error?.message, 'Setting up the plant store failed.'].filter(Boolean).join('\n'))
  process.exit(1)
}

setUp({ build: !process.argv.includes('--no-build') })
