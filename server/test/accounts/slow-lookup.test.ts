/** Tokens while their lookups take long. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { startPostgresql } from '../../../test/helpers/database/postgresql.ts'
import { startSlowNetwork } from '../../../test/helpers/network/slow-network.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'

test('a lookup that took long does not keep a revoked token valid', { timeout: 60_000 }, async () => {
  const postgresql = await startPostgresql()
  onTestFinished(() => postgresql.remove())
  await using owner = await startTestServer({ databaseUrl: postgresql.url('plants') })
  await using network = await startSlowNetwork(postgresql.port)
  await using server = await startTestServer({ databaseUrl: network.url('plants') })
  // Without the scope of the request, nothing but the token is looked up: 403 means that it is valid.
  const { id, token } = await owner.createToken({ scopes: ['read'] })
  const statusOf = async () => (await server.post('{}', { token })).status

  network.delay = 1_500
  const before = statusOf()
  await sleep(200)
  await owner.revoke(id)
  const revoked = performance.now()
  expect(await before).toBe(403)
  expect(performance.now()).toBeGreaterThan(revoked + 1_000)
  expect(await statusOf()).toBe(401)
})
