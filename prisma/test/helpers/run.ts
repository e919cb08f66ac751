import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'

export const packageFolder = fileURLToPath(new URL('../../', import.meta.url))

/** The script of the Prisma command line. */
export const prismaCommand = fileURLToPath(new URL('../../node_modules/prisma/build/index.js', import.meta.url))

export interface Finished {
  code: number | null
  stdout: string
  stderr: string
}

/** Runs a program in the package's folder until it ends. */
export function run(command: string, args: string[], options: SpawnOptions = {}): Promise<Finished> {
  return finish(spawn(command, args, { cwd: packageFolder, ...options, stdio: ['pipe', 'pipe', 'pipe'] }))
}

/** Runs one of the TypeScript files next to this one in a process of its own. */
export function runScript(name: string, args: string[], options: SpawnOptions = {}): Promise<Finished> {
  return run(process.execPath, [fileURLToPath(new URL(name, import.meta.url)), ...args], options)
}

/** Runs the Prisma command line on a database. */
export function runPrisma(args: string[], url: string, cwd: string = packageFolder): Promise<Finished> {
  const env = { ...process.env, DATABASE_URL: url, NO_COLOR: '1' }
  return run(process.execPath, [prismaCommand, ...args], { cwd, env })
}

function finish(child: ChildProcess): Promise<Finished> {
  child.stdin?.end()
  const text = { stdout: '', stderr: '' }
  child.stdout?.on('data', (chunk) => {
    text.stdout += chunk
  })
  child.stderr?.on('data', (chunk) => {
    text.stderr += chunk
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, ...text }))
  })
}

/** Returns the arguments of all processes, as `ps` shows them. Linux only. */
export function commandLines(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((id) => {
      try {
        return readFileSync(`/proc/${id}/cmdline`, 'utf8')
      } catch {
        // It has ended.
        return ''
      }
    })
}

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
