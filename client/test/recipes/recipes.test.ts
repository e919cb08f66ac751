/**
 * The recipes as they are written, in one app: all compile, and those that are more than a few calls of the SDK run.
 */
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { installPackage, run } from '../../../test/helpers/packed-package.ts'
import { codeBlock, readGuide } from '../../../test/helpers/production/guide.ts'
import { until } from '../../../test/helpers/programs.ts'
import { startWithToken } from '../../../test/helpers/server/run-command.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { temporaryFolder } from '../../../test/helpers/temporary.ts'
import { startTinyServer } from '../helpers/tiny-server.ts'

const client = fileURLToPath(new URL('../..', import.meta.url))

/** Tests of a page that calls the service. */
const fetching = `/** @jest-environment ./jsdom-with-fetch.js */
const { createPlantStoreClient } = require('@plant-store/client')
test('a page lists plants', async () => expect(await createPlantStoreClient().getPlants()).toEqual([]))
test('a page aborts', () => {
  const signal = AbortSignal.abort()
  return expect(createPlantStoreClient({ signal }).getPlants()).rejects.toMatchObject({ kind: 'aborted' })
})
`

/** Reads pages, creates a plant, reads the pages again, and prints the size of each response. */
const cached = `import { InfiniteQueryObserver, MutationObserver } from '@tanstack/react-query'
import { createPlantStoreClient } from '@plant-store/client'
import { createPlantQueries, createQueryClient } from './plant-queries.ts'
const sizes = []
const client = createPlantStoreClient({
  async fetch(url, init) {
    const response = await fetch(url, init)
    if (init.method === 'GET') sizes.push((await response.clone().arrayBuffer()).byteLength)
    return response
  },
})
const [queries, plants] = [createQueryClient(), createPlantQueries(client)]
const pages = new InfiniteQueryObserver(queries, plants.pages)
pages.subscribe(() => {})
const read = async (request) => (await request).data.pages.map((page) => page.plants.length)
const results = [await read(pages.refetch())]
while (pages.getCurrentResult().hasNextPage) results.push(await read(pages.fetchNextPage()))
await new MutationObserver(queries, plants.create).mutate(JSON.parse(JSON.stringify({ id: '121', name: 'Aloe' })))
results.push(await read(pages.refetch()))
console.log(JSON.stringify({ results, sizes }))
process.exit()
`

/** Sends requests to the route handler, and prints the statuses and bodies of the responses. */
const forwarded = `import { GET } from './route.ts'
const responses = process.argv.slice(2).map(async (authorization) => {
  const response = await GET(new Request('http://localhost', { headers: authorization ? { authorization } : {} }))
  return [response.status, await response.text()]
})
console.log(JSON.stringify(await Promise.all(responses)))
`

const compilerOptions = {
  ...{ target: 'es2023', lib: ['es2023', 'dom', 'dom.iterable'], types: ['node'] },
  ...{ module: 'esnext', moduleResolution: 'bundler', strict: true, skipLibCheck: true, noEmit: true },
}

const service = await startTestServer()
// The tools of the lockfile, outside the workspace.
const parent = temporaryFolder()
for (const name of ['package.json', 'package-lock.json']) await cp(`${client}test/recipes/${name}`, `${parent}/${name}`)
await run('npm', ['ci', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund'], parent)
const { folder } = await installPackage(client, parent)
const recipes = await readFile(path.join(client, 'docs/recipes.md'), 'utf8')
const written = [...recipes.matchAll(/^```\w+\n\/\/ (\S+)\n([\s\S]*?)^```$/gm)].map((match) => match.slice(1))
const files = [
  // Without a type, as `npm init` writes it.
  ['package.json', '{ "private": true }'],
  ['tsconfig.json', JSON.stringify({ compilerOptions })],
  ['cached.mjs', cached],
  ['forwarded.mjs', forwarded],
  ['tracing.mjs', codeBlock(readGuide('monitoring/README.md'), 'Traces', 0, 'js')],
  ...written,
]
const app = path.join(folder, 'app')
await mkdir(app)
for (const [name = '', text = ''] of files) await writeFile(path.join(app, name), text)

/** Runs a script of the tools and returns what it printed. Throws with the output if it fails. */
const runTool = (script: string, parameters: string[] = [], settings: NodeJS.ProcessEnv = {}) =>
  run(process.execPath, [path.join(parent, 'node_modules', script), ...parameters], app, { NO_COLOR: '1', ...settings })

test('all compile', () => runTool('typescript/bin/tsc'))

test('the package runs in Jest, in jsdom, with the fake and with fetch', async () => {
  const { url, token } = service
  await writeFile(path.join(app, 'fetching.test.js'), fetching)
  const parameters = ['page.test.js', 'fetching.test.js', '--json', '--testTimeout=60000']
  const settings = { PLANT_STORE_URL: url, PLANT_STORE_TOKEN: token }
  const report = JSON.parse(await runTool('jest/bin/jest.js', parameters, settings))
  expect(report).toMatchObject({ success: true, numPassedTests: 3 })
})

test('a test with Mock Service Worker passes in Vitest', async () => {
  expect(await runTool('vitest/vitest.mjs', ['run', 'msw', '--testTimeout=60000'])).toContain('1 passed (1)')
})

test('TanStack Query downloads no page again that is the same', async () => {
  const { token } = await service.createToken({ account: 'queries' })
  for (let id = 1; id <= 120; id++) await service.post(`{"id":${id},"name":"plant"}`, { token })
  const settings = { PLANT_STORE_URL: service.url, PLANT_STORE_TOKEN: token }
  const plants = (count: number) => JSON.stringify(Array(count).fill({ name: 'plant' })).length
  const { results, sizes } = JSON.parse(await run(process.execPath, ['cached.mjs'], app, settings))
  expect(results).toEqual([[50], [50, 50], [50, 50, 20], [50, 50, 21]])
  const afterCreate = [0, 0, plants(20) + ',{"name":"Aloe"}'.length]
  expect(sizes).toEqual([plants(50), plants(50), plants(20), ...afterCreate, 0, 0, 0])
})

test('the service continues the trace of its client in OpenTelemetry, without the token', async () => {
  await using collector = await startTinyServer((response) => response.end('{}'))
  const { server, token } = await startWithToken(temporaryFolder(), 'traced', {
    NODE_OPTIONS: `--import=${path.join(app, 'tracing.mjs')}`,
    ...{ OTEL_METRICS_EXPORTER: 'none', OTEL_LOGS_EXPORTER: 'none', OTEL_BSP_SCHEDULE_DELAY: '100' },
    ...{ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' },
  })
  const [traceId, parentSpanId] = ['a'.repeat(32), 'b'.repeat(16)]
  const headers = { authorization: `Bearer ${token}`, traceparent: `00-${traceId}-${parentSpanId}-01` }
  // A client that puts its token where it does not belong.
  await fetch(`${server.url}/plants?token=${token}`, { headers })
  const exported = () =>
    collector.requests
      .flatMap(({ body }) => JSON.parse(body).resourceSpans)
      .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }: { spans: object[] }) => spans))
  await until(() => exported().length > 0)
  const attributes = expect.arrayContaining([{ key: 'http.route', value: { stringValue: '/plants' } }])
  expect(exported()).toMatchObject([{ name: 'GET /plants', traceId, parentSpanId, attributes }])
  expect(collector.requests.map(({ body }) => body).join()).not.toContain(token)
})

test('a route handler forwards the tokens of its clients', async () => {
  const { token } = await service.createToken({ account: 'forwarded' })
  await service.post('{"id":1,"name":"Orchid"}', { token })
  const parameters = [`Bearer ${token}`, 'Bearer pst_unknown', '', 'Bearer two words']
  const settings = { PLANT_STORE_URL: service.url, PLANT_STORE_TOKEN: service.token }
  const output = await run(process.execPath, ['forwarded.mjs', ...parameters], app, settings)
  const [unknown, missing] = [
    [401, expect.stringContaining('"error":40102')],
    [401, ''],
  ]
  expect(JSON.parse(output)).toEqual([[200, '[{"name":"Orchid"}]'], unknown, missing, missing])
})
