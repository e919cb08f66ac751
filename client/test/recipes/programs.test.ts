/** The import of `client/docs`, and its `fetch`. server/test/storage/histories.test.ts has the follower. */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { newDatabase, query } from '../../../test/helpers/database/databases.ts'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { run } from '../../../test/helpers/packed-package.ts'
import { root, runProgram, startProgram } from '../../../test/helpers/programs.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { temporaryFolder } from '../../../test/helpers/temporary.ts'

const docs = fileURLToPath(new URL('../../docs/', import.meta.url))

/** Returns what runs a program, and its options. */
function programOf(name: string, parameters: readonly string[], { url, token }: Pick<TestServer, 'url' | 'token'>) {
  const command = [process.execPath, '--conditions=@plant-store/source', path.join(docs, name), ...parameters]
  return [command, { env: { ...process.env, PLANT_STORE_URL: url, PLANT_STORE_TOKEN: token } }] as const
}

/** A line that a carriage return ends with the last byte of a chunk of 64 KiB. */
const begin = '\uFEFF{"id":"1","name":"'
const long = 'x'.repeat(2 ** 16 - 1 - Buffer.byteLength(`${begin}"}`))
/** Each line of a file, its bytes or its text, and what is printed of it. */
const lines: [line: string | Buffer, reason?: string][] = [
  [`${begin}${long}"}\r`],
  ['\r'],
  [''],
  ['{"id":"2","name":"a\u2028b\u2029c\u0085"}\r'],
  ['{"id":9007199254740993,"name":"exact","tag":"🪴"}'],
  ['{"name":"minimum","id":-9223372036854775808}'],
  [' \uFEFF{"id":"0002","name":"a\u2028b\u2029c\u0085"} '],
  ['null', 'id: must be an integer'],
  ['{"id":9007199254740990.6,"name":""}', 'id: must be an integer'],
  ['{"id":9223372036854775808,"name":""}', 'id: is out of range'],
  ['{"id":3}', 'name: is required'],
  ['{"id":2,"name":"other"}', 'id: is taken by another plant of this account. Choose another id.'],
  ['{"id":4,"name":"a"} {"id":5,"name":"b"}', expect.stringContaining('JSON')],
  [Buffer.from('{"id":4,"name":"Zoë"}', 'latin1'), expect.stringContaining('utf-8')],
  ['{"id":4,"name":"","colour":"red"}', expect.stringMatching(/^colour: is not one of id, name, tag/)],
  [`{"id":4,"name":"${'x'.repeat(200_000)}"}`, expect.stringMatching(/^The body is larger/)],
  ['{"id":5,"name":"last"}'],
]

test('an import stores every plant of a file exactly, and says what is wrong with each other line', async () => {
  const databaseUrl = await newDatabase()
  await using server = await startTestServer({ databaseUrl })
  await server.post('{"id":5,"name":"last"}')
  const file = path.join(temporaryFolder(), 'plants.jsonl')
  const bytes = lines.flatMap(([line], index) => [Buffer.from(index ? '\n' : ''), Buffer.from(line as string)])
  await writeFile(file, Buffer.concat(bytes))
  const { exitCode, stdout, stderr } = await runProgram(...programOf('import-plants.ts', [file, '1'], server))
  const wrong = lines.flatMap(([, reason], index) => (reason ? [[`line ${index + 1}`, reason]] : []))
  expect(stderr.trim().split('\n').map((line) => line.split(/: (.*)/, 2))).toEqual(wrong) // biome-ignore format: one line
  expect([exitCode, stdout]).toEqual([1, `{ stored: 4, known: 2, wrong: ${wrong.length} }\n`])
  const stored = await query(
    databaseUrl,
    'SELECT CAST("id" AS TEXT) AS "id", "name", "tag" FROM "Plant" ORDER BY "seq"',
  )
  expect(stored).toEqual([
    { id: '5', name: 'last', tag: null },
    { id: '1', name: long, tag: null },
    { id: '2', name: 'a\u2028b\u2029c\u0085', tag: null },
    { id: '9007199254740993', name: 'exact', tag: '🪴' },
    { id: '-9223372036854775808', name: 'minimum', tag: null },
  ])
})

const COUNT = 20_000

test.runIf(isLong)(
  `${COUNT} plants are imported in spite of a kill, and a failure of the service ends an import`,
  async () => {
    await using server = await startTestServer()
    const file = path.join(temporaryFolder(), 'plants.jsonl')
    const names = Array.from({ length: COUNT }, (_, index) => `plant ${index}`)
    await writeFile(file, names.map((name, index) => `{"id":${2n ** 53n + BigInt(index)},"name":"${name}"}\n`).join(''))
    const [command, options] = programOf('import-plants.ts', [file], server)
    const killed = await startProgram(command, /accepted: 1000/, options)
    await killed.stop('SIGKILL')
    const { exitCode, stdout, stderr } = await runProgram(command, options)
    expect([exitCode, stderr]).toEqual([0, ''])
    const [, stored, known] = /\{ stored: (\d+), known: (\d+), wrong: 0 \}\n$/.exec(stdout) ?? []
    expect(Number(known)).toBeGreaterThanOrEqual(1000)
    expect(Number(stored) + Number(known)).toBe(COUNT)
    const listed = (await (await server.call('/plants')).json()) as { name: string }[]
    expect(listed.map(({ name }) => name).sort()).toEqual(names.sort())

    const reader = await server.createToken({ scopes: ['read'] })
    const rejected = await runProgram(...programOf('import-plants.ts', [file], { ...server, ...reader }))
    expect(rejected).toMatchObject({ exitCode: 1, stdout: '', stderr: expect.stringMatching(/line \d+: .* 403/) })
  },
)

test.runIf(isLong)('the fetch of the import passes the tests of the SDK as that of Node.js does', async () => {
  const setup = path.join(temporaryFolder(), 'setup.mjs')
  await writeFile(setup, `import { httpFetch } from '${docs}http-fetch.ts'\nglobalThis.fetch = httpFetch`)
  const parameters = ['--reporter=dot', 'client/test/calls', 'client/test/wire']
  const settings = { NODE_OPTIONS: `--import=${setup}`, NO_COLOR: '1' }
  const output = await run(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...parameters], root, settings)
  expect(output).toMatch(/Tests +\d{3} passed/)
})
