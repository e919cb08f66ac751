/**
 * Builds, packs and verifies the public packages.
 *
 * Usage: npm run pack -- FOLDER, a folder that is empty or missing
 */
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { fail, root, run } from './run.mjs'

const [argument] = process.argv.slice(2)
if (argument === undefined) fail('Usage: npm run pack -- FOLDER')
// npm runs scripts at the root of the repository and says here where it was called.
const folder = path.resolve(process.env['INIT_CWD'] ?? '.', argument)
if (existsSync(folder) && readdirSync(folder).length > 0) fail(`${folder} is not empty. Name a new folder.`)
mkdirSync(folder, { recursive: true })

run('npm', ['run', '--silent', 'setup'], 'inherit')
// The server does not need the SDK, so the set-up does not build it.
run('npm', ['--prefix', 'client', 'run', '--silent', 'build'])
for (const name of ['contract', 'prisma', 'server', 'client']) {
  const tarball = path.join(folder, `plant-store-${name}.tgz`)
  run('node', ['scripts/pnpm.mjs', '--filter', `@plant-store/${name}`, 'pack', '--out', tarball])
  run(`${root}node_modules/.bin/publint`, ['run', tarball, '--strict'])
  // The SDK works with require too; the others are for Node.js versions that import.
  const profile = name === 'client' ? [] : ['--profile', 'esm-only']
  run(`${root}node_modules/.bin/attw`, [tarball, '--no-color', ...profile])
  console.log(tarball)
}
