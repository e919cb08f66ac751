import { createServer } from 'node:net'
import { contract } from '@plant-store/contract'
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

test('the metrics count requests by route and status, batches, rejected requests and waiting writes', async () => {
  await using server = await startTestServer({ adminPort: 0, rateLimit: { requests: 4, seconds: 60 } })
  await server.post('{"id": 1, "name": "Ficus"}')
  await server.call('/plants')
  await server.call('/plants?limit=0')
  await server.call('/plants/../secret?token=x')
  await server.call('/plants', { method: 'PROPFIND' })
  await server.call('/plants')
  await server.call('/plants')

  const [, text] = await read(`${server.adminUrl}/metrics`)
  const count = (labels: string) => metric(text, `http_server_request_duration_seconds_count{${labels}}`)
  expect(count('method="POST",route="/plants",status_code="200"')).toBe(1)
  expect(count('method="GET",route="/plants",status_code="200"')).toBe(2)
  expect(count('method="GET",route="/plants",status_code="400"')).toBe(1)
  expect(count('method="GET",route="/plants",status_code="429"')).toBe(1)
  expect(count('method="GET",route="",status_code="404"')).toBe(1)
  expect(count('method="_OTHER",route="/plants",status_code="405"')).toBe(1)
  expect(metric(text, 'plant_store_batch_size_count')).toBe(1)
  expect(metric(text, 'plant_store_rejected_total{reason="rate-limit"}')).toBe(1)
  expect(metric(text, 'plant_store_busy_retries_total')).toBe(0)
  expect(metric(text, 'http_server_active_requests')).toBe(0)
  expect(metric(text, 'plant_store_waiting_writes')).toBe(0)
  expect(metric(text, 'plant_store_wal_bytes')).toBeGreaterThan(0)
  expect(metric(text, 'process_resident_memory_bytes')).toBeGreaterThan(0)
  expect(text).toContain('nodejs_eventloop_lag_p99_seconds')
  expect(text).not.toContain('secret')
})

test.each(Object.values(contract))(
  'the metrics name the method $method, which the contract has',
  async ({ method }) => {
    await using server = await startTestServer({ adminPort: 0 })
    await server.call('/nothing', { method })
    const [, text] = await read(`${server.adminUrl}/metrics`)
    expect(text).toContain(
      `http_server_request_duration_seconds_count{method="${method}",route="",status_code="404"} 1`,
    )
  },
)

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

function metric(metrics: string, name: string): number {
  const line = metrics.split('\n').find((candidate) => candidate.startsWith(`${name} `))
  return Number(line?.slice(name.length + 1))
}
