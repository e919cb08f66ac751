/** Packs the public packages. Usage: npm run pack -- FOLDER */
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from './run.mjs'

/** The folders of the public packages, those first that others depend on. */
const publicPackages = ['contract', 'prisma', 'server', 'client']

/** Builds and packs the public packages, and returns each with its tarball and its packed package.json. */
export function packPackages(folder) {
  mkdirSync(folder, { recursive: true })
  const filters = publicPackages.flatMap((name) => ['--filter', `@plant-store/${name}`])
  run('node', ['scripts/pnpm.mjs', ...filters, 'pack', '--out', path.join(folder, '%s.tgz')])
  return publicPackages.map((name) => {
    const tarball = path.join(folder, `plant-store-${name}.tgz`)
    return { tarball, manifest: JSON.parse(run('tar', ['-xzOf', tarball, 'package/package.json'])) }
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder] = process.argv.slice(2)
  if (folder === undefined) {
    console.error('Usage: npm run pack -- FOLDER')
    process.exit(1)
  }
  // npm runs scripts at the root of the repository and says here where it was called.
  for (const { tarball } of packPackages(path.resolve(process.env['INIT_CWD'] ?? '.', folder))) console.log(tarball)
}
