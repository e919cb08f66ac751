/** Runs docs/production/nginx.conf with a real nginx. test/production-guide.test.ts restarts the server behind it. */
import { expect, test } from 'vitest'
import { freePort } from './helpers/free-port.ts'
import { isInstalled, readGuide } from './helpers/production/guide.ts'
import { startNginx } from './helpers/production/nginx.ts'
import { startServerProcess } from './helpers/server/run-command.ts'
import { temporaryFolder } from './helpers/temporary-folder.ts'
import { until } from './helpers/until.ts'

test('behind nginx: bodies of any framing, long lists, errors, the address of the client, its request id', async ({
  skip,
}) => {
  if (!isInstalled('nginx')) {
    console.log('The configuration of nginx is not run: nginx is not installed.')
    skip()
  }
  const server = await startServerProcess({
    DATABASE_URL: `file:${temporaryFolder()}/behind.db`,
    TRUST_PROXY: '127.0.0.1',
    AUTH_FAILURE_LIMIT: '1/1m',
    BODY_LIMIT: '100kb',
    ACCESS_LOG: 'on',
  })
  const port = await freePort()
  const nginx = await startNginx(
    readGuide('nginx.conf').replace('server 127.0.0.1:3000;', `server ${new URL(server.url).host};`),
    port,
  )
  try {
    const url = `http://127.0.0.1:${port}`
    const headers = {
      authorization: `Bearer ${/pst_\w+/.exec(server.output())?.[0]}`,
      'content-type': 'application/json',
    }
    for (let id = 1; id <= 50; id++) {
      const body = JSON.stringify({ id, name: 'x'.repeat(50_000) })
      expect((await fetch(`${url}/plants`, { method: 'POST', headers, body })).status).toBe(200)
    }
    expect(await (await fetch(`${url}/plants`, { headers })).json()).toHaveLength(50)
    const page = await fetch(`${url}/plants?limit=1`, { headers })
    expect(page.headers.get('link')).toMatch(/^<\?limit=1&cursor=/)
    expect(page.headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/)
    await until(() => server.output().includes(String(page.headers.get('x-request-id'))))

    const tooLarge = await fetch(`${url}/plants`, { method: 'POST', headers, body: `"${'x'.repeat(200_000)}"` })
    expect(await tooLarge.json()).toMatchObject({ error: 41300 })
    expect((await fetch(`${url}/plants`)).status).toBe(401)
    expect((await fetch(`${url}/plants`)).status).toBe(429)
    // Another client than the proxy has its own limit.
    expect((await fetch(`${server.url}/plants`, { headers: { 'x-forwarded-for': '192.0.2.1' } })).status).toBe(401)
  } finally {
    await nginx.stop()
    await server.end()
  }
})
