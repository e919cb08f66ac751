/** Brings what the workspace runs on, Node.js and pnpm, from the npm registry, exactly as lockfiles name it. It runs on Node.js 18. */
import { copyFileSync, existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { fail, root, start } from './run.mjs'

const cache = `${root}node_modules/.cache`
const isWindows = process.platform === 'win32'
const program = isWindows ? 'node.exe' : 'node'

/**
 * Returns a Node.js that runs the workspace: that of the machine, or the one of `scripts/node`, which this installs where
 * the machine's is older than "engines" says. Ends the process with exit code 1 if there is neither.
 */
export function findNode() {
  const needed = JSON.parse(readFileSync(`${root}package.json`, 'utf8')).engines.node
  const own = process.versions.node
  if (own.localeCompare(needed.replace('>=', ''), 'en', { numeric: true }) >= 0) return process.execPath
  const reject = (reason) => fail(`Install Node.js 24: the plant store needs ${needed}, this is ${own}, and ${reason}`)
  const [name] = forThisMachine('scripts/node')
  if (!name) return reject(`the npm registry has none for ${process.platform} ${process.arch}.`)
  const node = `${cache}/node/${name}/bin/${program}`
  if (!existsSync(node))
    console.error(`Node.js ${own} is too old (${needed}): installing another into ${cache}/node, about 50 MB.`)
  installLocked('scripts/node', 'node', reject)
  return node
}

/** Makes every script of the workspace run on a Node.js that {@link findNode} has returned. */
export function linkNode(node) {
  // `npm run`, `npx` and the programs of `node_modules/.bin` look here for Node.js first.
  const link = `${root}node_modules/.bin/${program}`
  if (node === process.execPath) return
  rmSync(link, { force: true })
  // Windows lets only administrators make symbolic links.
  if (isWindows) linkSync(node, link)
  else symlinkSync(path.relative(path.dirname(link), node), link)
}

/**
 * Installs exactly what the lockfile in `source` names, without install scripts, into a folder of the cache, unless that has
 * it already.
 *
 * @param reject ends this process, with what npm printed if it failed
 * @returns the folder, with the packages in its `node_modules`
 */
export function installLocked(source, name, reject = fail) {
  const folder = `${cache}/${name}`
  const read = (file) => existsSync(file) && readFileSync(file, 'utf8')
  if (read(`${folder}/package-lock.json`) === read(`${root}${source}/package-lock.json`)) return folder
  // Complete or missing, whatever interrupts this process.
  const draft = `${folder}.${process.pid}`
  mkdirSync(draft, { recursive: true })
  process.once('exit', () => rmSync(draft, { recursive: true, force: true }))
  for (const file of ['package.json', 'package-lock.json']) copyFileSync(`${root}${source}/${file}`, `${draft}/${file}`)
  // The file .npmrc may name a registry of your own.
  if (existsSync(`${root}.npmrc`)) copyFileSync(`${root}.npmrc`, `${draft}/.npmrc`)
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', ...AS_BY_DEFAULT]
  const { status, error, stdout, stderr } = start('npm', ['ci', ...options], 'pipe', draft)
  // npm ignores an optional package that it cannot install, such as one with another integrity.
  const missing = forThisMachine(source).filter((each) => !existsSync(`${draft}/${each}`))
  if (status !== 0 || missing.length > 0) {
    // Of a package that it ignores, npm does not say why.
    const ping = start('npm', ['ping', '--loglevel=error'], 'pipe', draft)
    const printed = [stdout, stderr, error?.message, ping.stderr].filter(Boolean)
    reject([`npm cannot install ${missing} as ${source} names it.`, ...printed].join('\n'))
  }
  rmSync(folder, { recursive: true, force: true })
  renameSync(draft, folder)
  return folder
}

/** Settings that a user's npm may have, with which it would install nothing, something else, or into another folder. */
const AS_BY_DEFAULT = ['--include=optional', '--no-global', '--location=project', '--no-dry-run', '--no-workspaces']

/** Lists the packages of a lockfile that are for some kinds of machine only, and for this one. */
function forThisMachine(source) {
  const { packages } = JSON.parse(readFileSync(`${root}${source}/package-lock.json`, 'utf8'))
  const { glibcVersionRuntime } = process.report.getReport().header
  const fits = ([, { os, cpu, libc }]) =>
    [os].flat().includes(process.platform) && [cpu].flat().includes(process.arch) && (!libc || glibcVersionRuntime)
  return Object.entries(packages)
    .filter(fits)
    .map(([name]) => name)
}
