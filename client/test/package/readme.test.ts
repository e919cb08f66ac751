/** Every snippet of the README compiles, runs as written, and prints what follows `// ->`; and the example runs. */
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { contract } from '@plant-store/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { query } from '../../../test/helpers/database/sqlite.ts'
import { run } from '../../../test/helpers/packed-package.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { expectToCompile } from '../helpers/generated-sdk.ts'

const client = fileURLToPath(new URL('../..', import.meta.url))
const readme = await readFile(path.join(client, 'README.md'), 'utf8')
const snippets = readme.split(/^#+ /m).flatMap((section) => {
  const [title = ''] = section.split('\n')
  return [...section.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code = '']) => ({ title, code }))
})

/** Runs every snippet in one process, which takes a second instead of one for each, and prints what each printed. */
const RUNNER = `
import { setTimeout } from 'node:timers/promises'
import { format } from 'node:util'

const outputs = []
console.log = (...values) => outputs.at(-1).push(format(...values))
for (const [index, { token, lines }] of JSON.parse(process.env.SNIPPETS).entries()) {
  outputs.push([])
  process.env.PLANT_STORE_TOKEN = token
  await import('./snippet-' + index + '.ts')
  for (let wait = 0; outputs.at(-1).length < lines && wait < 1000; wait++) await setTimeout(10)
}
process.stdout.write(JSON.stringify(outputs))
`

describe('the README of the client', () => {
  let folder: string
  let server: TestServer
  beforeAll(async () => {
    folder = temporaryFolder()
    await mkdir(path.join(folder, 'node_modules/@plant-store'), { recursive: true })
    await symlink(client, path.join(folder, 'node_modules/@plant-store/client'), 'junction')
    await writeFile(path.join(folder, 'package.json'), '{ "type": "module" }')
    server = await startTestServer()
    for (const [index, { code }] of snippets.entries()) {
      const written = code.replaceAll('https://plants.example.com', server.url)
      await writeFile(path.join(folder, `snippet-${index}.ts`), written)
    }
    const typeRoots = [path.join(client, '../node_modules/@types')]
    const tsconfig = { extends: path.join(client, '../tsconfig.base.json'), compilerOptions: { typeRoots } }
    await writeFile(path.join(folder, 'tsconfig.json'), JSON.stringify(tsconfig))
  })
  afterAll(() => server.close())

  test('has no snippet that is left out here', () => {
    expect(snippets).toHaveLength(readme.split('```ts\n').length - 1)
    expect(snippets.length).toBeGreaterThanOrEqual(6)
  })

  test('has snippets that compile', () => expectToCompile(folder))

  test('has snippets that print what they say', async () => {
    const expected = snippets.map(({ code }) => [...code.matchAll(/\/\/ -> (.*)$/gm)].map(([, line]) => line))
    const prepared = expected.map(async ({ length }, index) => {
      const { token } = await server.createToken({ account: `reader ${index}` })
      return { token, lines: length }
    })
    const settings = { PLANT_STORE_URL: server.url, SNIPPETS: JSON.stringify(await Promise.all(prepared)) }
    await writeFile(path.join(folder, 'runner.mjs'), RUNNER)
    const output = await run(process.execPath, ['--conditions=@plant-store/source', 'runner.mjs'], folder, settings)
    const withTitles = (texts: unknown[]) => snippets.map(({ title }, index) => [title, texts[index]])
    expect(withTitles(JSON.parse(output))).toEqual(withTitles(expected))
  })

  test('has an example, which adds 302 plants twice and lists them unchanged, with every id exact', async () => {
    const { token } = await server.createToken({ account: 'example' })
    const settings = { PLANT_STORE_URL: server.url, PLANT_STORE_TOKEN: token }
    for (const _ of [1, 2]) {
      const command = ['--conditions=@plant-store/source', 'src/main.ts']
      const output = await run(process.execPath, command, path.join(client, 'example'), settings)
      expect(output).toBe('302 plants added, 302 listed, identical\n')
    }
    const sql = `SELECT "id" FROM "Plant" WHERE "account" = 'example'`
    const ids = query(fileURLToPath(server.databaseUrl), sql).map((row) => (row as { id: string }).id)
    expect(ids).toHaveLength(302)
    for (const id of ['9007199254740992', '9007199254740993', '9223372036854775807']) expect(ids).toContain(id)
  })

  test('names every operation, option, error class and kind', async () => {
    const options = await readFile(path.join(client, 'src/options.ts'), 'utf8')
    const errors = await readFile(path.join(client, 'src/errors.ts'), 'utf8')
    const optionNames = [...options.matchAll(/^ {2}(\w+)\?:/gm)].map(([, name]) => `\`${name}\``)
    const classNames = [...errors.matchAll(/^export class (\w+)/gm)].map(([, name]) => `\`${name}\``)
    const kinds = [...errors.matchAll(/kind: '([a-z-]+)'/g)].map(([, kind = '']) => kind)
    expect([optionNames.length, classNames.length, new Set(kinds).size]).toEqual([10, 7, 7])
    const calls = Object.keys(contract).map((operation) => `client.${operation}(`)
    const names = [...calls, ...optionNames, ...classNames, ...kinds.map((kind) => `\`${kind}\``)]
    expect(names.filter((name) => !readme.includes(name))).toEqual([])
  })
})
