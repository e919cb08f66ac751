import { expect, test } from 'vitest'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { openSocket } from '../helpers/connection.ts'
import { expectMetric, readMetric, readMetrics } from '../helpers/read-metric.ts'
import { postHead, withToken } from '../helpers/requests.ts'

/** Names the series of requests that one combination of labels has. */
function requests(method: string, route: string, status: number | '') {
  const labels = `http_request_method="${method}",http_route="${route}",http_response_status_code="${status}"`
  return `http_server_request_duration_seconds_count{${labels}}`
}

const server = await startTestServer({ adminPort: 0, adminHost: 'localhost' })

test('the metrics show the build and what is in use; a client that disconnects has no status', async () => {
  const socket = await openSocket(server.url)
  socket.write(withToken(`${postHead({ 'Content-Length': '1000' })}{`, server.token))
  await expectMetric(server, 'plant_store_requests_in_flight').toBe(1)

  const metrics = await readMetrics(server)
  const [build = ''] = [...metrics.keys()].filter((name) => name.startsWith('plant_store_build_info{'))
  expect(build).toMatch(/version="\d+\.\d+\.\d+",node_version="\d+\.\d+\.\d+",engine="sqlite"/)
  expect(metrics.get('plant_store_ready')).toBe(1)
  expect(metrics.get('plant_store_open_connections')).toBeGreaterThanOrEqual(1)
  // Reading them lists all connections one by one.
  expect([...metrics.keys()].join('\n')).not.toMatch(/process_open_fds|active_(handles|resources)/)

  socket.destroy()
  await expectMetric(server, 'plant_store_requests_in_flight').toBe(0)
  expect(await readMetric(server, requests('POST', '/plants', ''))).toBe(1)
  // The private port has no other path.
  expect((await fetch(`${server.adminUrl}/plants`)).status).toBe(404)
})

const counting = await startTestServer({ adminPort: 0, trustProxy: 1, rateLimit: { requests: 4, seconds: 60 } })

test('the metrics count requests by method, route and status, batches and rejections; what is odd adds no series of its own', async () => {
  const { post, call, token: own } = counting
  await post('{"id": 1, "name": "Ficus"}')
  await call('/plants')
  await call('/plants?limit=0')
  await call('/plants/../secret?token=x')
  await call('/plants', { method: 'PROPFIND' })
  for (const token of [own, own, null, 'pst_unknown']) await call('/plants', { token })
  const metrics = await readMetrics(counting)
  expect(Object.fromEntries(metrics)).toMatchObject({
    [requests('POST', '/plants', 200)]: 1,
    [requests('GET', '/plants', 200)]: 2,
    [requests('GET', '/plants', 400)]: 1,
    [requests('GET', '/plants', 429)]: 1,
    [requests('GET', '', 404)]: 1,
    [requests('_OTHER', '/plants', 405)]: 1,
    plant_store_batch_size_count: 1,
    plant_store_batch_size_sum: 1,
    'plant_store_rejected_total{reason="rate-limit"}': 1,
    'plant_store_authentication_failures_total{code="40101"}': 1,
    'plant_store_authentication_failures_total{code="40102"}': 1,
    'plant_store_authentication_failures_total{code="40103"}': 0,
  })
  expect([...metrics.keys()].join('\n')).not.toMatch(/secret|PROPFIND|unknown/)
})
