/** The recipe for Cloudflare Workers, in workerd. */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { build } from 'esbuild'
import { describe, expect, test } from 'vitest'
import { freePort } from '../../../test/helpers/free-port.ts'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { createRecipeApp, RECIPE_TIMEOUT } from '../helpers/recipe-app.ts'

/** What `wrangler.toml` says otherwise. The network is restricted to public addresses by default. */
const createConfiguration = (port: number, url: string, token: string) => `
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

describe.runIf(isLong)('Cloudflare Workers', () => {
  test('a Worker adds a plant with an exact id and lists it', { timeout: RECIPE_TIMEOUT }, async () => {
    await using service = await startTestServer()
    const app = await createRecipeApp(['Cloudflare Workers'])
    await app.run('typescript/bin/tsc')
    await build({
      entryPoints: [path.join(app.folder, 'src/worker.ts')],
      outfile: path.join(app.folder, 'worker.js'),
      bundle: true,
      format: 'esm',
      conditions: ['workerd', 'worker', 'browser'],
    })
    const port = await freePort()
    await writeFile(path.join(app.folder, 'config.capnp'), createConfiguration(port, service.url, service.token))
    await using _ = await app.start('workerd/bin/workerd', ['serve', 'config.capnp'], port)

    const worker = `http://127.0.0.1:${port}`
    const added = await fetch(worker, { method: 'POST', body: 'Ficus' })
    expect([added.status, await added.json()]).toEqual([200, [{ name: 'Ficus' }]])
    const other = await service.post('{"id":9007199254740993,"name":"Monstera"}')
    expect(await other.json()).toMatchObject({ error: 40003 })
    expect((await service.post('{"id":9007199254740992,"name":"Monstera"}')).status).toBe(200)
    expect(await (await fetch(worker)).json()).toEqual([{ name: 'Ficus' }, { name: 'Monstera' }])
  })
})
