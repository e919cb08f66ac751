import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { exclusively, root, runToSuccess } from './programs.ts'
import { temporaryFolder } from './temporary.ts'

/**
 * Packs a package, and installs it in an empty app outside the workspace, without a network.
 *
 * @param source the folder of the package
 * @param parent the folder in which to create the app; default: that of temporary files
 * @returns the folder of the app, and where the package is installed
 */
export async function installPackage(source: string, parent?: string) {
  const folder = temporaryFolder(parent)
  const name: string = JSON.parse(await readFile(path.join(source, 'package.json'), 'utf8')).name
  const tarball = path.join(tmpdir(), `${name.replace('/', '-')}.tgz`)
  // Once for all test files of a run: packing builds the package, and removes files that another process packs.
  await exclusively(`${tarball}.lock`, async () => {
    if (existsSync(tarball)) return
    await run('npm', ['run', '--silent', 'build'], source)
    await run(process.execPath, [`${root}scripts/pnpm.mjs`, 'pack', '--out', tarball], source)
  })
  await writeFile(path.join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  const options = ['--offline', '--install-links', '--ignore-scripts', '--no-audit', '--no-fund']
  await run('npm', ['install', ...options, tarball], folder)
  return { folder, installed: path.join(folder, 'node_modules', name) }
}

/**
 * Runs a program and returns its output. Throws with the output if it fails.
 *
 * @param settings environment variables to add to those of this process, without those of the npm that runs the tests
 */
export function run(program: string, parameters: string[], cwd: string, settings: NodeJS.ProcessEnv = {}) {
  const own = Object.entries(process.env).filter(([name]) => !name.toLowerCase().startsWith('npm_'))
  return runToSuccess([program, ...parameters], { cwd, env: { ...Object.fromEntries(own), ...settings } })
}
