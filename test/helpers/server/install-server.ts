import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { built } from './built.ts'

const PARTS = ['package.json', 'dist', 'migrations', 'postgresql/migrations']

/**
 * Installs the server as it is built: as a package in `node_modules`, or as a release of this name.
 *
 * @returns the script of its command line
 */
export function installServer(folder: string, release?: string): string {
  const packages = path.join(folder, release ?? '', 'node_modules/@plant-store')
  const server = release === undefined ? path.join(packages, 'server') : path.join(folder, release)
  for (const name of ['contract', 'prisma', 'server']) {
    const target = name === 'server' ? server : path.join(packages, name)
    const source = built(name)
    mkdirSync(path.join(target, 'node_modules'), { recursive: true })
    for (const part of PARTS.filter((each) => existsSync(path.join(source, each)))) {
      cpSync(path.join(source, part), path.join(target, part), { recursive: true })
    }
    for (const dependency of readdirSync(path.join(source, 'node_modules'))) {
      if (dependency === '@plant-store' || dependency === '.bin') continue
      symlinkSync(path.join(source, 'node_modules', dependency), path.join(target, 'node_modules', dependency))
    }
  }
  return path.join(server, 'dist/main.js')
}
