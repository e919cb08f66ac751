/**
 * Builds and packs the public packages.
 *
 * Usage: npm run pack -- FOLDER, a folder that is empty or missing
 */
import path from 'node:path'
import { newFolder, run } from './run.mjs'

const folder = newFolder('pack')

// The server does not need the SDK, so the set-up does not build it.
run('npm', ['--prefix', 'client', 'run', '--silent', 'build'])
for (const name of ['contract', 'prisma', 'server', 'client']) {
  const tarball = path.join(folder, `plant-store-${name}.tgz`)
  run('node', ['scripts/pnpm.mjs', '--filter', `@plant-store/${name}`, 'pack', '--out', tarball])
  console.log(tarball)
}
