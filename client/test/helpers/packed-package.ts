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
  const folder = temporaryFolder()
  await run(process.execPath, [pnpm, 'pack', '--pack-destination', folder], client)
  const { version } = JSON.parse(await readFile(path.join(client, 'package.json'), 'utf8'))
  const tarball = path.join(folder, `plant-store-client-${version}.tgz`)
  await writeFile(path.join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], folder)
  await cp(consumerFiles, folder, { recursive: true })
  return {
    folder,
    tarball,
    installed: path.join(folder, 'node_modules/@plant-store/client'),
  }
}

/** Runs a program and returns its output. Throws with the output if it fails. */
export async function run(
  program: string,
  parameters: string[],
  cwd: string,
  settings: NodeJS.ProcessEnv = {},
): Promise<string> {
  // Without the settings of the npm or pnpm that runs the tests.
  const environment = Object.entries(process.env).filter(([name]) => !name.toLowerCase().startsWith('npm_'))
  const options = { cwd, env: { ...Object.fromEntries(environment), ...settings }, shell: process.platform === 'win32' }
  try {
    return (await execute(program, parameters, options)).stdout
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`${program} ${parameters.join(' ')} failed:\n${stdout}${stderr}`, { cause: error })
  }
}
