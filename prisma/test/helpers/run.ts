import { execFileSync, type SpawnOptions } from 'node:child_process'
import { cpSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { type Finished, root, runProgram } from '../../../test/helpers/programs.ts'
import { temporaryFolder } from '../../../test/helpers/temporary.ts'

export const packageFolder = `${root}prisma/`

/** The script of the Prisma command line. */
export const prismaCommand = `${packageFolder}node_modules/prisma/build/index.js`

/** Runs a program in the package's folder until it ends. */
export function run(command: string, args: string[], options: SpawnOptions = {}): Promise<Finished> {
  return runProgram([command, ...args], { cwd: packageFolder, ...options })
}

/** Runs the Prisma command line on a database. */
export function runPrisma(args: string[], url: string, cwd: string = packageFolder): Promise<Finished> {
  const env = { ...process.env, DATABASE_URL: url, NO_COLOR: '1' }
  return run(process.execPath, [prismaCommand, ...args], { cwd, env })
}

/** Returns the arguments of all processes, as `ps` shows them: on Linux, elsewhere none. */
export function commandLines(): string[] {
  if (process.platform !== 'linux') return []
  return execFileSync('ps', ['-A', '-ww', '-o', 'args='], { encoding: 'utf8' }).split('\n')
}

/** Creates a repository with only this package, which a test may change, and returns the folder of the package. */
export function copyPackage(): string {
  const parent = path.join(temporaryFolder(), 'C# apps, 100% sure?')
  const folder = path.join(parent, 'prisma')
  const skipped = ['node_modules', 'dist', 'generated']
  cpSync(packageFolder, folder, { recursive: true, filter: (each) => !skipped.includes(path.basename(each)) })
  cpSync(`${root}tsconfig.base.json`, path.join(parent, 'tsconfig.base.json'))
  symlinkSync(path.join(packageFolder, 'node_modules'), path.join(folder, 'node_modules'))
  return folder
}
