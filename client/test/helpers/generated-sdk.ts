import { execFile } from 'node:child_process'
import { cp, mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'

const run = promisify(execFile)
const client = fileURLToPath(new URL('../..', import.meta.url))
const compiler = fileURLToPath(new URL('../bin/tsc', import.meta.resolve('typescript')))

/** Writes the SDK with other generated files to a new folder. There, the package's name leads to it. */
export async function createProject(generated: Record<string, string>): Promise<string> {
  const cache = path.join(client, 'node_modules/.cache')
  await mkdir(cache, { recursive: true })
  const folder = temporaryFolder(cache)
  await cp(path.join(client, 'src'), path.join(folder, 'src'), { recursive: true })
  for (const [name, text] of Object.entries(generated)) {
    await writeFile(path.join(folder, 'src/generated', name), text)
  }
  const tsconfig = {
    extends: path.join(client, '../tsconfig.base.json'),
    include: ['src/*.ts'],
    compilerOptions: {
      typeRoots: [path.join(client, '../node_modules/@types')],
      paths: { '@plant-store/client': ['./src/index.ts'], '@plant-store/client/testing': ['./src/testing/index.ts'] },
    },
  }
  await writeFile(path.join(folder, 'tsconfig.json'), JSON.stringify(tsconfig))
  return folder
}

/** Compiles a project. Fails with the compiler's output. */
export async function expectToCompile(folder: string): Promise<void> {
  await run(process.execPath, [compiler, '--project', folder]).catch(({ stdout }) => expect.fail(stdout))
}
