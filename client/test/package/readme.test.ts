/** Every snippet of the READMEs of client and contract compiles, runs as written, and prints what follows `// ->`. */
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { run } from '../../../test/helpers/packed-package.ts'
import { codeBlocks } from '../../../test/helpers/production/guide.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { temporaryFolder } from '../../../test/helpers/temporary.ts'
import { expectToCompile } from '../helpers/generated-sdk.ts'

const client = fileURLToPath(new URL('../..', import.meta.url))
const contract = path.join(client, '../contract')
const readme = await readFile(path.join(client, 'README.md'), 'utf8')
const ofContract = await readFile(path.join(contract, 'README.md'), 'utf8')
const recipes = await readFile(path.join(client, 'docs/recipes.md'), 'utf8')
// recipes.test.ts has those that need other tools.
const recipe = codeBlocks(recipes, 'ts').filter((code) => code.includes('// -> '))
const texts = [...codeBlocks(readme, 'ts'), ...codeBlocks(ofContract, 'ts'), ...recipe]
const snippets = texts.map((code, index) => ({ code, file: `snippet-${index}.ts` }))

describe('the README', async () => {
  const folder = temporaryFolder()
  await mkdir(path.join(folder, 'node_modules/@plant-store'), { recursive: true })
  for (const each of ['client', 'contract']) {
    await symlink(path.join(client, '..', each), path.join(folder, 'node_modules/@plant-store', each), 'junction')
  }
  await symlink(path.join(contract, 'node_modules/@ts-rest'), path.join(folder, 'node_modules/@ts-rest'), 'junction')
  await writeFile(path.join(folder, 'package.json'), '{ "type": "module" }')
  const server = await startTestServer()
  for (const { code, file } of snippets) {
    await writeFile(path.join(folder, file), code.replaceAll('https://plants.example.com', server.url))
  }

  test('has snippets that compile', () => expectToCompile([folder]))

  test('has snippets that print what they say', async () => {
    const tokens = snippets.map(async ({ file }) => [file, (await server.createToken({ account: file })).token])
    const script = `for (const [file, token] of ${JSON.stringify(await Promise.all(tokens))}) {
      process.env.PLANT_STORE_TOKEN = token
      console.log(file)
      await import('./' + file)
    }`
    const parameters = ['--conditions=@plant-store/source', '--input-type=module', '--eval', script]
    const output = await run(process.execPath, parameters, folder, { PLANT_STORE_URL: server.url })
    const expected = snippets.flatMap(({ code, file }) => [file, ...code.matchAll(/(?<=\/\/ -> ).*$/gm)])
    expect(output).toBe(expected.map((line) => `${line}\n`).join(''))
  })

  test.runIf(isLong)('has an example, which adds 302 plants twice and lists them unchanged', async () => {
    const page = await readFile(path.join(client, 'example/README.md'), 'utf8')
    const [, commands = '', start] = /^```sh\nnpm start .*\n([^`]*?(npm .*)\n)```$/m.exec(page) ?? []
    const script = `${commands.replace('http://127.0.0.1:3000', server.url)}${start}`
    const output = await run('sh', ['-ec', script], path.join(client, '..'), { DATABASE_URL: server.databaseUrl })
    const [, line] = / prints `([^`]+)`/.exec(page) ?? []
    expect(output).toBe(`${line}\n`.repeat(2))
  })

  test.runIf(isLong)('has the table that bench/outages.ts prints, which is within its limits', async () => {
    const bench = path.join(client, 'bench/outages.ts')
    expect(readme).toContain(await run(process.execPath, ['--conditions=@plant-store/source', bench], client))
  })

  test('of the contract names the version of ts-rest that it needs', async () => {
    const { dependencies } = JSON.parse(await readFile(path.join(contract, 'package.json'), 'utf8'))
    expect(ofContract).toContain(`npm install @plant-store/contract @ts-rest/core@${dependencies['@ts-rest/core']}\n`)
  })
})
