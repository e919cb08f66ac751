import { cp } from 'node:fs/promises'
import path from 'node:path'
import { run } from './packed-package.ts'
import { temporaryFolder } from './temporary.ts'

/**
 * Installs the tools of a folder with a lockfile, outside the workspace.
 *
 * @returns the folder that has them in its `node_modules`
 */
export async function installTools(source: string): Promise<string> {
  const folder = temporaryFolder()
  for (const name of ['package.json', 'package-lock.json']) await cp(path.join(source, name), path.join(folder, name))
  const options = ['--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  await run('npm', ['ci', ...options], folder)
  return folder
}
