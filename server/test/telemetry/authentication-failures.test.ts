import { expect, test } from 'vitest'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { type AuthenticationFailed, authenticationFailed } from '../../src/telemetry/events.ts'

test('a failed authentication is an event with its number and address, also beyond AUTH_FAILURE_LIMIT', async () => {
  const seen: AuthenticationFailed[] = []
  const listen = (failed: AuthenticationFailed) => void seen.push(failed)
  authenticationFailed.subscribe(listen)
  try {
    await using server = await startTestServer({ trustProxy: 1, authFailureLimit: { requests: 3, seconds: 60 } })
    const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })
    const { id, token } = await server.createToken()
    await server.revoke(id)
    await server.call('/plants', { token: null, ...from('192.0.2.1') })
    await server.call('/plants', { token: 'pst_unknown', ...from('2001:db8::1') })
    await server.call('/plants', { token, ...from('192.0.2.1') })
    await server.call('/plants', { token: 'pst_unknown', ...from('192.0.2.1') })
    expect((await server.call('/plants', { token: 'pst_unknown', ...from('192.0.2.1') })).status).toBe(429)
    // Neither a valid token without the scope nor an unknown path is one.
    const reader = await server.createToken({ scopes: ['read'] })
    expect((await server.post('{}', { token: reader.token })).status).toBe(403)
    expect((await server.call('/nothing', { token: null })).status).toBe(404)
    expect(seen).toEqual([
      { code: 40101, address: '192.0.2.1' },
      { code: 40102, address: '2001:db8:0:0::/64' },
      { code: 40103, address: '192.0.2.1' },
      { code: 40102, address: '192.0.2.1' },
      { code: 40102, address: '192.0.2.1' },
    ])
  } finally {
    authenticationFailed.unsubscribe(listen)
  }
})
