import { existsSync } from 'node:fs'
import { cp, mkdir, readFile, realpath, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { exclusively, root, runToSuccess } from './programs.ts'
import { temporaryFolder } from './temporary.ts'

/**
 * Packs a package, and installs it in an empty app outside the workspace, without a network.
 *
 * @param source the folder of the package
 * @param parent the folder in which to create the app; default: that of temporary files
 * @param dependencies the packages to install next to it: names of dependencies that the package has in the workspace
 * @returns the folder of the app, and where the package is installed
 */
export async function installPackage(
  source: string,
  { parent, dependencies = [] }: { parent?: string; dependencies?: string[] } = {},
) {
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
  const copies = await Promise.all(dependencies.map((dependency) => copyPackage(source, dependency, folder)))
  const options = ['--offline', '--install-links', '--ignore-scripts', '--no-audit', '--no-fund']
  await run('npm', ['install', ...options, tarball, ...copies], folder)
  return { folder, installed: path.join(folder, 'node_modules', name) }
}

/** Copies a dependency, because npm does not pack the hard links of pnpm. */
async function copyPackage(source: string, name: string, folder: string): Promise<string> {
  const copy = path.join(folder, 'dependencies', name)
  await mkdir(path.dirname(copy), { recursive: true })
  await cp(await realpath(path.join(source, 'node_modules', name)), copy, { recursive: true })
  return copy
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
