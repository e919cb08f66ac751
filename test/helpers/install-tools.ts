import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import path from 'node:path'
import { run } from './packed-package.ts'
import { exclusively } from './programs.ts'

/** Tools stay for the next run, where no other user can put any. */
const CACHE = path.join(homedir(), '.cache/plant-store')

/**
 * Installs the tools of a folder with a lockfile, outside the workspace, once for each version of the lockfile.
 *
 * @returns the folder that has them in its `node_modules`
 */
export async function installTools(source: string): Promise<string> {
  const lockfile = await readFile(path.join(source, 'package-lock.json'))
  const version = createHash('sha256').update(lockfile).digest('hex').slice(0, 12)
  const folder = path.join(CACHE, `${path.basename(source)}-${version}`)
  await mkdir(CACHE, { recursive: true })
  return await exclusively(path.join(tmpdir(), `${version}.lock`), async () => {
    if (existsSync(folder)) return folder
    const draft = await mkdtemp(`${folder}.`)
    for (const name of ['package.json', 'package-lock.json']) await cp(path.join(source, name), path.join(draft, name))
    const options = ['--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
    try {
      await run('npm', ['ci', ...options], draft)
      // Another run may have been faster.
      await rename(draft, folder).catch((error) => existsSync(folder) || Promise.reject(error))
    } finally {
      await rm(draft, { recursive: true, force: true })
    }
    return folder
  })
}
