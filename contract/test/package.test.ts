/** The package as a ts-rest user installs it: from its tarball, outside the workspace. */
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { installPackage, run } from '../../test/helpers/packed-package.ts'
import { codeBlocks } from '../../test/helpers/production/guide.ts'
import { findRuntime } from '../../test/helpers/runtimes.ts'
import { startTestServer } from '../../test/helpers/server/start-test-server.ts'

const contract = fileURLToPath(new URL('..', import.meta.url))
const compiler = fileURLToPath(new URL('../../node_modules/typescript', import.meta.url))

const consumer = await installPackage(contract, { dependencies: ['@ts-rest/core', 'zod'] })
const readme = await readFile(path.join(consumer.installed, 'README.md'), 'utf8')
const snippets = codeBlocks(readme, 'ts').filter((code) => code.includes("from '@plant-store/contract'"))
const format = { target: 'es2022', lib: ['es2022', 'dom'], module: 'nodenext', strict: true, noEmit: true }
const platform = { types: ['node'], typeRoots: [path.join(compiler, '../@types')], skipLibCheck: true }
const files = [
  ['tsconfig.json', JSON.stringify({ compilerOptions: { ...format, ...platform }, include: ['*.ts'] })],
  ['openapi.ts', "export * from '@plant-store/contract/openapi'"],
  ...snippets.map((code, index) => [`file-${index}.ts`, code]),
]
for (const [name = '', text = ''] of files) await writeFile(path.join(consumer.folder, name), text)

const oldCompiler = findRuntime('typescript-5.4')
const compile = (folder: string, ...parameters: string[]) =>
  run(process.execPath, [path.join(folder, 'bin/tsc'), ...parameters], consumer.folder)

describe('the packed contract', () => {
  test('has a README that names the version of ts-rest that it needs', async () => {
    const { dependencies } = JSON.parse(await readFile(path.join(consumer.installed, 'package.json'), 'utf8'))
    expect(readme).toContain(`npm install @plant-store/contract @ts-rest/core@${dependencies['@ts-rest/core']}\n`)
  })

  test.skipIf(!oldCompiler)('compiles with TypeScript 5.4', () => compile(String(oldCompiler)))

  test('compiles, and has declarations without errors, unlike @ts-rest/core', async () => {
    const output = await compile(compiler, '--skipLibCheck', 'false').then(() => '', String)
    const files = [...output.matchAll(/^(\S+)\(\d+,\d+\): error/gm)].map(([, file = '']) => file)
    const folders = new Set(files.map((file) => file.replace(/(\/core\/).*/, '$1')))
    expect(folders).toEqual(new Set(['node_modules/@ts-rest/core/']))
  })

  test('has a README whose snippets create, list and reject plants with initClient', async () => {
    await using server = await startTestServer()
    const settings = { PLANT_STORE_URL: server.url, PLANT_STORE_TOKEN: server.token }
    const files = snippets.map((_, index) => `file-${index}.ts`)
    const outputs = files.map((file) => run(process.execPath, [file], consumer.folder, settings))
    const expected = [...snippets.join('').matchAll(/\/\/ -> (.*)$/gm)].map(([, line]) => `${line}\n`)
    expect(expected.length).toBeGreaterThanOrEqual(3)
    expect((await Promise.all(outputs)).join('')).toBe(expected.join(''))
  })
})
