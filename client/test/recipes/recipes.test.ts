/** The recipes, each with the tool that it is for. Next.js has a test of its own. */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../../test/helpers/free-port.ts'
import { startProxy } from '../../../test/helpers/network/proxy.ts'
import { run } from '../../../test/helpers/packed-package.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { createRecipeApp, RECIPE_TIMEOUT, type RecipeApp } from '../helpers/recipe-app.ts'
import { sendError, startTinyServer } from '../helpers/tiny-server.ts'

test('the package runs in Jest, in jsdom, which has no fetch', { timeout: RECIPE_TIMEOUT }, async () => {
  const app = await createRecipeApp(['Jest and Vitest'])
  // Without a type, as `npm init` writes it.
  await writeFile(path.join(app.folder, 'package.json'), '{ "private": true }')
  const report = JSON.parse(await app.run('jest/bin/jest.js', ['--json', '--testTimeout=60000']))
  expect(report).toMatchObject({ success: true, numPassedTests: 1 })
})

describe('an app with the recipes', () => {
  let app: RecipeApp
  let service: TestServer
  beforeAll(async () => {
    service = await startTestServer()
    const others = ['Cloudflare Workers', 'Mock Service Worker', 'A proxy', 'Ids as text']
    app = await createRecipeApp(['TanStack Query', ...others])
    await app.add('tanstack-query.test.mts')
    await app.run('typescript/bin/tsc', ['--noEmit', 'false', '--outDir', 'dist'])
  }, RECIPE_TIMEOUT)
  afterAll(() => service.close())

  /** Creates an account, and returns its token with the environment variables of the SDK. */
  async function createAccount(account: string) {
    const { token } = await service.createToken({ account })
    return { token, environment: { PLANT_STORE_URL: service.url, PLANT_STORE_TOKEN: token } }
  }

  const runFile = (file: string, environment: Record<string, string>) =>
    run(process.execPath, [path.join('dist', file)], app.folder, environment)

  test('its tests with TanStack Query and MSW pass; a query that fails sends 3 requests instead of 12', {
    timeout: RECIPE_TIMEOUT,
  }, async () => {
    await using overloaded = await startTinyServer((response) => sendError(response, 50300))
    const environment = { ...(await createAccount('queries')).environment, OVERLOADED_URL: overloaded.url }
    const output = await app.run('vitest/vitest.mjs', ['run', '--exclude', 'dist', '--testTimeout=60000'], environment)
    expect(output).toContain('6 passed (6)')
    const count = (path: string) => overloaded.requests.filter(({ url }) => url === path).length
    expect([count('/one/plants'), count('/two/plants')]).toEqual([3, 12])
  })

  test('a Cloudflare Worker adds a plant with an exact id and lists it', { timeout: RECIPE_TIMEOUT }, async () => {
    const { token } = await createAccount('worker')
    const files = { entryPoints: [path.join(app.folder, 'src/worker.ts')], outfile: path.join(app.folder, 'worker.js') }
    await build({ ...files, bundle: true, format: 'esm', conditions: ['workerd', 'worker', 'browser'] })
    const port = await freePort()
    await writeFile(path.join(app.folder, 'config.capnp'), configureWorker(port, service.url, token))
    await using _ = await app.start('workerd/bin/workerd', ['serve', 'config.capnp'], port)

    const worker = `http://127.0.0.1:${port}`
    const added = await fetch(worker, { method: 'POST', body: 'Ficus' })
    expect([added.status, await added.json()]).toEqual([200, [{ name: 'Ficus' }]])
    const other = await service.post('{"id":9007199254740993,"name":"Monstera"}', { token })
    expect(await other.json()).toMatchObject({ error: 40003 })
    expect((await service.post('{"id":9007199254740992,"name":"Monstera"}', { token })).status).toBe(200)
    expect(await (await fetch(worker)).json()).toEqual([{ name: 'Ficus' }, { name: 'Monstera' }])
  })

  test('undici sends requests through a proxy', { timeout: RECIPE_TIMEOUT }, async () => {
    const targets: string[] = []
    await using proxy = await startProxy({
      target: () => Number(new URL(service.url).port),
      // What is not in a tunnel has an absolute target, which the service reads too.
      request(bytes, { client }) {
        const [, method, target] = /^(CONNECT|GET) (?:http:..)?([\d.:]+)/.exec(bytes.toString()) ?? []
        if (target) targets.push(target)
        if (method === 'CONNECT') client.write('HTTP/1.1 200 Connection established\r\n\r\n')
        return method !== 'CONNECT'
      },
    })
    const { token, environment } = await createAccount('proxy')
    await service.post('{"id":1,"name":"Orchid"}', { token })
    const variables = { ...environment, HTTP_PROXY: `http://127.0.0.1:${proxy.port}` }
    expect(await runFile('proxy.js', variables)).toBe("[ { name: 'Orchid' } ]\n")
    expect(targets).toEqual([new URL(service.url).host])
  })

  test('an id survives JSON', { timeout: RECIPE_TIMEOUT }, async () => {
    const { environment } = await createAccount('ids')
    const printed = '{"id":"9007199254740993","name":"Ficus"}\nundefined undefined -1n\n'
    expect(await runFile('ids.js', environment)).toBe(printed)
  })
})

/** Writes what `wrangler.toml` says otherwise. The network is restricted to public addresses by default. */
function configureWorker(port: number, url: string, token: string): string {
  return `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "worker.js", esModule = embed "worker.js")],
      compatibilityDate = "2026-01-01",
      bindings = [(name = "PLANT_STORE_URL", text = "${url}"), (name = "PLANT_STORE_TOKEN", text = "${token}")],
    )),
    (name = "internet", network = (allow = ["private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
`
}
