/** What a server loads: time at startup, and memory for as long as it runs. */
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'
import { startWithToken } from '../../../test/helpers/server/run-command.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'

/** Serves some requests and returns the URLs of all modules that were loaded, as V8's coverage lists them. */
async function loadedModules(): Promise<string[]> {
  const folder = temporaryFolder()
  const { server, token } = await startWithToken(temporaryFolder(), 'modules', { NODE_V8_COVERAGE: folder })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  expect((await fetch(`${server.url}/plants`, { headers })).status).toBe(200)
  for (const id of [1, 2]) {
    const body = JSON.stringify({ id, name: 'Monstera' })
    expect((await fetch(`${server.url}/plants`, { method: 'POST', headers, body })).status).toBe(200)
  }
  const page = await fetch(`${server.url}/plants?limit=1`, { headers })
  expect(page.headers.get('link')).toContain('cursor=')
  expect(await server.end()).toBe(0)
  // One file for each thread.
  const files = await Promise.all((await readdir(folder)).map((name) => readFile(path.join(folder, name), 'utf8')))
  const coverages = files.map((text): { result: { url: string }[] } => JSON.parse(text))
  return coverages.flatMap(({ result }) => result.map(({ url }) => url))
}

test('requests of plants load nothing of what they do not need', async () => {
  const loaded = await loadedModules()
  const find = (pattern: RegExp) => loaded.filter((url) => pattern.test(url))
  const [plants = ''] = find(/contract\/dist\/plants\.js$/)
  expect(existsSync(new URL('openapi.js', plants))).toBe(true)
  expect(find(/contract\/dist\/openapi|zod-openapi/)).toEqual([])
  expect(find(/dist\/generated\/postgresql/)).toEqual([])
  expect(find(/\/prom-client\/|\/jose\/|pino-pretty/)).toEqual([])
  expect(find(/\/pg\/|adapter-pg/)).toEqual([])
})
