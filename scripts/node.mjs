import { spawnSync } from 'node:child_process'
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { fail, installLocked, root } from './run.mjs'

const folder = `${root}node_modules/.cache/node`
const isWindows = process.platform === 'win32'
const program = isWindows ? 'node.exe' : 'node'
/** `npm run`, `npx` and the programs of `node_modules/.bin` look here for Node.js first. */
const link = `${root}node_modules/.bin/${program}`
const needed = JSON.parse(readFileSync(`${root}package.json`, 'utf8')).engines.node

/**
 * Returns a Node.js that runs the workspace: that of the machine, or the one of `scripts/node`, which this installs where
 * the machine's is not in the range of "engines". Ends the process with exit code 1 if there is neither.
 */
export function findNode() {
  if (isInRange(process.versions.node, needed)) return process.execPath
  const [name, version] =
    packageForThisMachine() ?? reject(`the npm registry has none for ${process.platform} ${process.arch}`)
  const node = `${folder}/node_modules/${name}/bin/${program}`
  if (versionOf(node) === version) return node

  console.error(
    `Node.js ${process.versions.node} is too old for the plant store (${needed}): ` +
      `installing Node.js ${version} into node_modules/.cache/node, about 50 MB to download.`,
  )
  installLocked(`${root}scripts/node`, folder, (output) => reject(`npm cannot install it\n${output}`))
  if (versionOf(node) === version) return node
  // npm ignores an optional package that it cannot install.
  const reason = existsSync(node) ? 'the one of the npm registry does not run here' : 'npm cannot install it'
  rmSync(folder, { recursive: true, force: true })
  return reject(reason)
}

/** Makes every script of the workspace run on a Node.js that {@link findNode} has returned. */
export function linkNode(node) {
  if (!node.startsWith(folder) || versionOf(link) === versionOf(node)) return
  mkdirSync(path.dirname(link), { recursive: true })
  rmSync(link, { force: true })
  // Windows lets only administrators make symbolic links.
  if (isWindows) linkSync(node, link)
  else symlinkSync(path.relative(path.dirname(link), node), link)
}

/** Whether a version is in a range such as `^22.22.2 || >=24.14.1`. */
function isInRange(version, range) {
  return range.split(' || ').some((alternative) => {
    const least = alternative.replace(/^\D+/, '')
    const isMajor = Number.parseInt(version, 10) === Number.parseInt(least, 10)
    return (isMajor || alternative.startsWith('>=')) && version.localeCompare(least, 'en', { numeric: true }) >= 0
  })
}

function packageForThisMachine() {
  const { packages } = JSON.parse(readFileSync(`${root}scripts/node/package-lock.json`, 'utf8'))
  const fits = ([, { os, cpu }]) => os === process.platform && cpu === process.arch
  const [name, { version } = {}] = Object.entries(packages).find(fits) ?? []
  return name && [name.replace('node_modules/', ''), version]
}

function versionOf(node) {
  return spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout?.trim().slice(1)
}

function reject(reason) {
  fail(`Install Node.js 24: the plant store needs ${needed}, this is ${process.versions.node}, and ${reason}.`)
}
