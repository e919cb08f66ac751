import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { startServer } from '../../src/index.ts'

test('/livez, /readyz and /metrics respond 200 on the private port and 404 on the public one', async () => {
  await using server = await startTestServer({ adminPort: 0 })
  expect(await read(`${server.adminUrl}/livez`)).toEqual([200, 'live\n'])
  expect(await read(`${server.adminUrl}/readyz`)).toEqual([200, 'ready\n'])
  expect((await read(`${server.adminUrl}/metrics`))[0]).toBe(200)
  expect((await read(`${server.adminUrl}/plants`))[0]).toBe(404)
  expect((await fetch(`${server.adminUrl}/livez`, { method: 'POST' })).status).toBe(404)
  for (const path of ['/livez', '/readyz', '/metrics']) {
    expect((await server.call(path)).status).toBe(404)
  }
})

test('without ADMIN_PORT there is no private port', async () => {
  await using server = await startTestServer()
  expect(server.adminUrl).toBeUndefined()
})

test('a private port in use is reported in one line that names the setting', async () => {
  const other = createServer()
  const port = await new Promise<number>((resolve) => {
    other.listen(0, '127.0.0.1', () => resolve((other.address() as { port: number }).port))
  })
  try {
    await expect(
      startServer({ port: 0, adminPort: port, databaseUrl: 'file:/nowhere/plant-store.db' }),
    ).rejects.toThrow(new RegExp(`^ADMIN_PORT ${port} .*$`))
  } finally {
    other.close()
  }
})

async function read(url: string): Promise<[status: number, text: string]> {
  const response = await fetch(url)
  return [response.status, await response.text()]
}
