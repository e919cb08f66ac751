import { mkdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { run } from '../../helpers/packed-package.ts'

/**
 * Makes what better-sqlite3 downloads when it is installed, from the copy that the workspace has compiled: no test
 * depends on the host that it is downloaded from, or compiles it again for minutes.
 *
 * @returns environment variables with which its own installer finds it
 */
export async function prebuildSqlite(folder: string): Promise<Record<string, string>> {
  const require = createRequire(new URL('../../../prisma/package.json', import.meta.url))
  const manifest = require.resolve('better-sqlite3/package.json')
  const { version } = require(manifest)
  await mkdir(folder, { recursive: true })
  const platform = `node-v${process.versions.modules}-${process.platform}-${process.arch}`
  const file = path.join(folder, `better-sqlite3-v${version}-${platform}.tar.gz`)
  await run('tar', ['-czf', file, 'build/Release/better_sqlite3.node'], path.dirname(manifest))
  return { npm_config_better_sqlite3_local_prebuilds: folder }
}
