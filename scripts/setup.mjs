/**
 * Sets up the repository on any Node.js from 18 on: installs Node.js if that of the machine is too old, and the packages,
 * generates Prisma Client and builds the server. Skips what is up to date, silently. With `--no-build` it leaves out the
 * build, which running the sources does not need.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { root, run } from './run.mjs'
import { findNode, linkNode } from './tools.mjs'

const workspace = readFileSync(`${root}pnpm-workspace.yaml`, 'utf8')
const folders = [...workspace.matchAll(/^ {2}- (\S+)$/gm)].map(([, folder]) => folder)
// The container image is built without the client.
const packages = folders.filter((folder) => existsSync(`${root}${folder}/package.json`))

const node = findNode()
// What a step starts runs on it, too.
process.env['PATH'] = path.dirname(node) + path.delimiter + process.env['PATH']

const inputs = [
  ...['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml', '.pnpmfile.mjs', 'scripts/pnpm/package-lock.json'],
  ...['prisma/prisma.config.ts', 'prisma/schema.prisma', 'prisma/postgresql/schema.prisma'],
  ...packages.map((folder) => `${folder}/package.json`),
]
const outputs = [
  'node_modules/.pnpm/lock.yaml',
  ...packages.map((folder) => `${folder}/node_modules`),
  ...['sqlite', 'postgresql'].map((engine) => `prisma/src/generated/${engine}/client.ts`),
]
const stamp = `${root}node_modules/.cache/set-up/state`
// Some packages are for one kind of machine.
const state = [process.platform, process.arch, ...inputs.map((file) => readFileSync(root + file, 'utf8'))].join('\n')
const isSetUp = existsSync(stamp) && readFileSync(stamp, 'utf8') === state
if (!isSetUp || !outputs.every((file) => existsSync(root + file))) {
  rmSync(stamp, { force: true })
  console.error('Installing the packages: about half a minute, later a few seconds.')
  // To standard error: standard output is that of the command that needs the set-up.
  run(node, ['scripts/pnpm.mjs', 'install', '--frozen-lockfile', '--prefer-offline'], ['inherit', 2, 2])
  run('npm', ['--prefix', 'prisma', 'run', '--silent', 'generate'])
  mkdirSync(path.dirname(stamp), { recursive: true })
  writeFileSync(stamp, state)
}
linkNode(node)
// The compiler finds out itself what has changed, in a tenth of a second, and says so.
if (!process.argv.includes('--no-build')) run(node, ['server/scripts/build.mjs'], ['inherit', 2, 2])
