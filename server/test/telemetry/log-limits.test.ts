/** Which requests have no line of their own in the access log, and what the log says of those that fail to authenticate. */
import type { Request } from 'express'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { memoryInUse } from '../../../test/helpers/memory-in-use.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { authenticationFailed, requestEnded, requestUnparsed } from '../../src/telemetry/events.ts'
import { logAuthenticationFailures, logRequests } from '../../src/telemetry/log/log-requests.ts'
import { createFileLog } from '../helpers/telemetry/log-lines.ts'

describe('of requests that cost their client next to nothing', () => {
  const publishEnded = (status: number, identity?: object) => {
    const request = { requestId: 'many', socket: {}, identity } as unknown as Request
    requestEnded.publish({ request, status, seconds: 0, bytesSent: 0 })
  }
  const publishUnparsed = () => requestUnparsed.publish({ requestId: 'many', status: 400, address: undefined })

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    return () => void vi.useRealTimers()
  })

  test.each([
    ['malformed', publishUnparsed],
    ['without a valid token', () => publishEnded(401)],
    ['beyond a rate limit', () => publishEnded(429, { account: 'alice' })],
    ['shed', () => publishEnded(503, { account: 'alice' })],
  ])('ten have a line each second, and the others are counted: %s', async (_what, publish) => {
    const log = await createFileLog()
    const end = logRequests(log.logger, () => true)
    for (const seconds of [1, 2, 3]) {
      for (let count = 0; count < 300; count++) publish()
      expect(log.eventLines('request')).toHaveLength(10 * seconds)
      vi.advanceTimersByTime(1_000)
      expect(log.eventLines('requests omitted')).toHaveLength(seconds)
    }
    for (let count = 0; count < 20; count++) publishEnded(200, { account: 'alice' })
    expect(log.eventLines('request')).toHaveLength(50)
    end()
    expect(log.eventLines('requests omitted')).toMatchObject([{ omitted: 290 }, { omitted: 290 }, { omitted: 290 }])
  })

  test('none has a line while too many wait, and they are counted when there is room again', async () => {
    const log = await createFileLog()
    let hasRoom = false
    onTestFinished(logRequests(log.logger, () => hasRoom))
    for (let count = 0; count < 3; count++) publishUnparsed()
    vi.advanceTimersByTime(5_000)
    expect(log.lines()).toEqual([])
    hasRoom = true
    vi.advanceTimersByTime(1_000)
    expect(log.eventLines('requests omitted')).toMatchObject([{ omitted: 3 }])
    publishUnparsed()
    expect(log.eventLines('request')).toHaveLength(1)
  })
})

test('the log says which addresses failed to authenticate, why and how often, also beyond AUTH_FAILURE_LIMIT', async () => {
  const log = await createFileLog('error')
  const end = logAuthenticationFailures(log.logger)
  await using server = await startTestServer({ trustProxy: 1, authFailureLimit: { requests: 3, seconds: 60 } })
  const { id, token: revoked } = await server.createToken()
  await server.revoke(id)
  const statusOf = async (address: string, token: string | null) =>
    (await server.call('/plants', { token, headers: { 'x-forwarded-for': address } })).status
  for (const [address, token] of [
    ['2001:db8::1', 'pst_unknown'],
    ['192.0.2.2', null],
    ['192.0.2.2', 'pst_unknown'],
    ['192.0.2.2', revoked],
    ['no address, pst_0123', null],
  ] as const) {
    expect(await statusOf(address, token)).toBe(401)
  }
  expect(await statusOf('192.0.2.2', 'pst_unknown')).toBe(429)
  // Neither a valid token without the scope nor an unknown path is one.
  const reader = await server.createToken({ scopes: ['read'] })
  expect((await server.post('{}', { token: reader.token })).status).toBe(403)
  expect((await server.call('/nothing', { token: null })).status).toBe(404)
  end()
  const [line, ...others] = log.lines()
  expect(JSON.parse(line ?? '')).toMatchObject({
    level: 'info',
    event: 'authentication failed',
    failed: 6,
    addresses: [
      { address: '192.0.2.2', failed: 4, codes: { 40101: 1, 40102: 2, 40103: 1 } },
      { address: '2001:db8:0:0::/64', failed: 1, codes: { 40102: 1 } },
      { address: '127.0.0.1', failed: 1, codes: { 40101: 1 } },
    ],
  })
  expect(others).toEqual([])
  expect(line).not.toContain('pst_')
})

test('the log names ten addresses and counts the others, of any number, in little memory', async () => {
  const log = await createFileLog()
  const end = logAuthenticationFailures(log.logger)
  const before = memoryInUse()
  const flood = 200_000
  for (let count = 0; count < 20; count++) authenticationFailed.publish({ code: 40102, address: '192.0.2.1' })
  for (let index = 0; index < flood; index++) {
    authenticationFailed.publish({ code: 40102, address: `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}` })
  }
  expect(memoryInUse() - before).toBeLessThan(20 * 2 ** 20)
  end()
  const lines = log.eventLines('authentication failed')
  expect(lines.reduce((sum, { failed }) => sum + Number(failed), 0)).toBe(flood + 20)
  const [line] = lines
  expect(line).toMatchObject({ addresses: [{ address: '192.0.2.1', failed: 20 }, ...Array(9).fill({ failed: 1 })] })
  expect(line?.['others']).toBe(Number(line?.['failed']) - 29)
})
