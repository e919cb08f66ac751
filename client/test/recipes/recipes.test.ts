/**
 * The recipes as they are written, in one app: all compile, and those that are more than a few calls of the SDK run.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { installTools } from '../../../test/helpers/install-tools.ts'
import { installPackage, run } from '../../../test/helpers/packed-package.ts'
import { codeBlock, readGuide } from '../../../test/helpers/production/guide.ts'
import { freePort, responds, startProgram, until } from '../../../test/helpers/programs.ts'
import { startWithToken } from '../../../test/helpers/server/run-command.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { temporaryFolder } from '../../../test/helpers/temporary.ts'
import { createPlantStoreClient } from '../../src/index.ts'
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

/** A page with what is cached, which waits for a request. */
const page = `import { connection } from 'next/server'
import { getCachedPlants, getPlants } from '../lib/plants'
const Count = async () => <p>{(await getPlants()).length} plants</p>
export default async function Page() {
  await connection()
  return <><Count /><p>{(await getCachedPlants()).length} plants a minute ago</p><Count /></>
}`

/** What the recipes leave to the reader. */
const layout = `import type { ReactNode } from 'react'
export default function Layout({ children }: { children: ReactNode }) {
  return <html><body>{children}</body></html>
}`
const compilerOptions = {
  ...{ target: 'es2023', lib: ['es2023', 'dom', 'dom.iterable'], types: ['node'], jsx: 'react-jsx' },
  ...{ module: 'esnext', moduleResolution: 'bundler', strict: true, skipLibCheck: true, noEmit: true },
}

const service = await startTestServer()
const parent = await installTools(path.join(client, 'test/recipes'))
const { folder } = await installPackage(client, { parent })
const recipes = await readFile(path.join(client, 'docs/recipes.md'), 'utf8')
const written = [...recipes.matchAll(/^```\w+\n\/\/ (\S+)\n([\s\S]*?)^```$/gm)].map((match) => match.slice(1))
const files = [
  // Without a type, as `npm init` writes it.
  ['package.json', '{ "private": true }'],
  ['tsconfig.json', JSON.stringify({ compilerOptions })],
  ['app/layout.tsx', layout],
  ['app/page.tsx', page],
  ['cached.mjs', cached],
  ['tracing.mjs', codeBlock(readGuide('monitoring/README.md'), 'Traces', 0, 'js')],
  ...written,
]
for (const [name = '', text = ''] of files) {
  // Next.js checks the types of its own files, and takes any `proxy.ts` for one of them.
  const file = path.join(folder, /^(app|lib)\//.test(name) ? 'next' : 'others', name)
  await mkdir(path.dirname(file), { recursive: true })
  await writeFile(file, text)
}
const app = path.join(folder, 'others')
const programOf = (script: string) => path.join(parent, 'node_modules', script)

/** Runs a script of the tools and returns what it printed. Throws with the output if it fails. */
const runTool = (script: string, parameters: string[] = [], cwd = app, settings: NodeJS.ProcessEnv = {}) =>
  run(process.execPath, [programOf(script), ...parameters], cwd, { NO_COLOR: '1', ...settings })

test('all compile', () => runTool('typescript/bin/tsc'))

test('the package runs in Jest, in jsdom, with the fake and with fetch', async () => {
  const { url, token } = service
  await writeFile(path.join(app, 'fetching.test.js'), fetching)
  const parameters = ['page.test.js', 'fetching.test.js', '--json', '--testTimeout=60000']
  const settings = { PLANT_STORE_URL: url, PLANT_STORE_TOKEN: token }
  const report = JSON.parse(await runTool('jest/bin/jest.js', parameters, app, settings))
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

test('Next.js serves a list of now and one of the build, and a route handler forwards the token', async () => {
  const sdk = createPlantStoreClient({ baseUrl: service.url, token: service.token })
  await sdk.createPlant({ id: 1, name: 'Ficus' })
  const next = 'next/dist/bin/next'
  const { url: PLANT_STORE_URL, token: PLANT_STORE_TOKEN } = service
  const settings = { PLANT_STORE_URL, PLANT_STORE_TOKEN, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' } as const
  const cwd = path.join(folder, 'next')
  await runTool(next, ['build'], cwd, settings)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const command = [process.execPath, programOf(next), 'start', '-H', '127.0.0.1', '-p', String(port)]
  await using _ = await startProgram(command, responds(url), { cwd, env: { ...process.env, ...settings } })

  await sdk.createPlant({ id: 2, name: 'Aloe vera' })
  const page = await (await fetch(url)).text()
  expect(page.replaceAll('<!-- -->', '')).toMatch(/<p>2 plants<\/p><p>1 plants a minute ago<\/p><p>2 plants<\/p>/)

  const { token } = await service.createToken({ account: 'bob' })
  await sdk.createPlant({ id: 1, name: 'Orchid' }, { token })
  const list = (headers: Record<string, string>) => fetch(`${url}/api/plants`, { headers })
  expect(await (await list({ authorization: `Bearer ${token}` })).json()).toEqual([{ name: 'Orchid' }])
  expect(await (await list({ authorization: 'Bearer pst_unknown' })).json()).toMatchObject({ error: 40102 })
  for (const headers of [{}, { authorization: 'Bearer two words' }]) expect((await list(headers)).status).toBe(401)
})
