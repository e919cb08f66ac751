import { createHash } from 'node:crypto'
import { existsSync, lstatSync, mkdirSync } from 'node:fs'
import { cp, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { exclusively } from './exclusively.ts'
import { run } from './packed-package.ts'

/** How long a hook that may install tools can take, in milliseconds. */
export const INSTALL_TIMEOUT = 300_000

/**
 * Installs the tools of a folder with a lockfile, outside the workspace, once for each version of the lockfile.
 *
 * @returns the folder that has them in its `node_modules`
 */
export async function installTools(source: string): Promise<string> {
  const lockfile = await readFile(path.join(source, 'package-lock.json'))
  const version = createHash('sha256').update(lockfile).digest('hex').slice(0, 12)
  const folder = path.join(ownFolder(), `${path.basename(source)}-${version}`)
  return await exclusively(`${folder}.lock`, async () => {
    if (existsSync(folder)) return folder
    const draft = `${folder}.draft`
    for (const name of ['package.json', 'package-lock.json']) await cp(path.join(source, name), path.join(draft, name))
    const options = ['--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
    try {
      await run('npm', ['ci', ...options], draft)
      await rename(draft, folder)
    } finally {
      await rm(draft, { recursive: true, force: true })
    }
    return folder
  })
}

/**
 * Makes a folder that stays for the next run, where no other user can put tools.
 *
 * @throws Error if another user may have made it
 */
function ownFolder(): string {
  const user = process.getuid?.() ?? 0
  const folder = path.join(process.env['PLANT_STORE_TOOLS'] ?? tmpdir(), `plant-store-tools-${user}`)
  if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700, recursive: true })
  const found = lstatSync(folder)
  const isOwn = found.isDirectory() && found.uid === user && (found.mode & 0o022) === 0
  if (isOwn || process.platform === 'win32') return folder
  throw new Error(`${folder} may have been made by another user: remove it.`)
}
