/**
 * Installs what the package is tested with: other versions of Node.js and TypeScript, Bun and Deno.
 * Without them those tests are skipped.
 *
 * Usage: node client/scripts/install-runtimes.mjs FOLDER, then PLANT_STORE_RUNTIMES=FOLDER npm test
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const node = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`

const dependencies = {
  'node-18': `npm:${node}@18`,
  'node-20': `npm:${node}@20.0.0`,
  'node-22': `npm:${node}@22`,
  'node-24': `npm:${node}@24`,
  'node-26': `npm:${node}@26`,
  'npm-10': 'npm:npm@10',
  'npm-11': 'npm:npm@11',
  'npm-12': 'npm:npm@12',
  bun: '^1.3.0',
  deno: '^2.5.0',
  'typescript-5.4': 'npm:typescript@5.4',
  'typescript-5.9': 'npm:typescript@5.9',
  'typescript-6.0': 'npm:typescript@6.0',
  'typescript-7.0': 'npm:typescript@7.0',
}

const [folder] = process.argv.slice(2)
if (!folder) throw new Error('Usage: node client/scripts/install-runtimes.mjs FOLDER')

const manifest = path.join(folder, 'package.json')
const text = `${JSON.stringify({ private: true, dependencies }, null, 2)}\n`
const lockfile = path.join(folder, 'package-lock.json')
if (existsSync(lockfile) && readFileSync(manifest, 'utf8') === text) process.exit()

mkdirSync(folder, { recursive: true })
writeFileSync(manifest, text)
execFileSync('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], {
  cwd: folder,
  stdio: 'inherit',
  shell: process.platform === 'win32',
})
