import { execFile } from 'node:child_process'
import { cp, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'

const execute = promisify(execFile)
const client = fileURLToPath(new URL('../..', import.meta.url))
const pnpm = fileURLToPath(new URL('../../../scripts/pnpm.mjs', import.meta.url))
const consumerFiles = fileURLToPath(new URL('../consumer', import.meta.url))

/** An empty app outside the workspace, with the packed package installed. */
export interface Consumer {
  folder: string
  tarball: string
  /** Where the package is installed. */
  installed: string
}

/** Packs the package, and installs it in an app with the files of `test/consumer`. */
export async function createConsumer(): Promise<Consumer> {
  const consumer = await installPackage(client)
  await cp(consumerFiles, consumer.folder, { recursive: true })
  return consumer
}

/**
 * Packs a package, and installs it in an empty app.
 *
 * @param source the folder of the package
 * @param parent where to create the folder of the app. Default: the folder for temporary files.
 */
export async function installPackage(source: string, parent?: string): Promise<Consumer> {
  const folder = temporaryFolder(parent)
  await run(process.execPath, [pnpm, 'pack', '--pack-destination', folder], source)
  const { name, version } = JSON.parse(await readFile(path.join(source, 'package.json'), 'utf8'))
  const tarball = path.join(folder, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`)
  await writeFile(path.join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], folder)
  return { folder, tarball, installed: path.join(folder, 'node_modules', name) }
}

/**
 * Runs a program and returns its output. Throws with the output if it fails.
 *
 * @param settings environment variables to add to those of this process, without those of the npm that runs the tests
 */
export async function run(
  program: string,
  parameters: string[],
  cwd: string,
  settings: NodeJS.ProcessEnv = {},
): Promise<string> {
  const options = { cwd, env: { ...withoutNpmSettings(), ...settings }, shell: process.platform === 'win32', maxBuffer: 16 * 2 ** 20 }
  try {
    return (await execute(program, parameters, options)).stdout
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`${program} ${parameters.join(' ')} failed:\n${stdout}${stderr}`, { cause: error })
  }
}

function withoutNpmSettings(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.toLowerCase().startsWith('npm_')))
}
