import { cpSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { packageFolder } from './run.ts'

/** Creates a repository with only this package, which a test may change, and returns the folder of the package. */
export function copyPackage(): string {
  const root = temporaryFolder()
  const folder = path.join(root, 'prisma')
  const skipped = ['node_modules', 'dist', 'generated']
  cpSync(packageFolder, folder, { recursive: true, filter: (each) => !skipped.includes(path.basename(each)) })
  cpSync(path.join(packageFolder, '../tsconfig.base.json'), path.join(root, 'tsconfig.base.json'))
  symlinkSync(path.join(packageFolder, 'node_modules'), path.join(folder, 'node_modules'))
  return folder
}
