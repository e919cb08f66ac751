import { cp, mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from '../../../test/helpers/packed-package.ts'
import { temporaryFolder } from '../../../test/helpers/temporary.ts'
import { generate } from '../../generator/generate.ts'

const client = fileURLToPath(new URL('../..', import.meta.url))
const compiler = fileURLToPath(new URL('../bin/tsc', import.meta.resolve('typescript')))

type Call = (...parameters: unknown[]) => Promise<unknown>
/** The client of a generated SDK. The compiler checks the types of its operations. */
type Client = Record<string, Call> & Record<'safe' | 'raw' | 'iterate', Record<string, Call>>

/** Generates the SDK of a contract in a new folder. */
export async function createSdk(operations: Record<string, unknown>) {
  const cache = path.join(client, 'node_modules/.cache')
  await mkdir(cache, { recursive: true })
  const folder = temporaryFolder(cache)
  await cp(path.join(client, 'src'), path.join(folder, 'src'), { recursive: true })
  for (const [name, text] of Object.entries(generate(operations))) {
    await writeFile(path.join(folder, 'src/generated', name), text)
  }
  const { createPlantStoreClient } = await import(path.join(folder, 'src/index.ts'))
  return { folder, createClient: createPlantStoreClient as (options: object) => Client }
}

/** Compiles the files of folders and of their `src`, as one program. Fails with the compiler's output. */
export async function expectToCompile(folders: readonly [string, ...string[]]): Promise<void> {
  const compilerOptions = { typeRoots: [path.join(client, '../node_modules/@types')] }
  const tsconfig = {
    extends: path.join(client, '../tsconfig.base.json'),
    include: folders.flatMap((folder) => [`${folder}/*.ts`, `${folder}/src/*.ts`]),
    compilerOptions,
  }
  await writeFile(path.join(folders[0], 'tsconfig.json'), JSON.stringify(tsconfig))
  await run(process.execPath, [compiler, '--project', folders[0]], folders[0])
}
