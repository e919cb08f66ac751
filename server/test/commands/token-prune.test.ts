/** The command that deletes tokens which ended long ago. */
import { beforeEach, expect, test } from 'vitest'
import { newDatabase, runSql } from '../../../test/helpers/database/databases.ts'
import { runCommand, startServerProcess } from '../../../test/helpers/server/run-command.ts'

const DAY = 86_400_000

let environment: { DATABASE_URL: string }
beforeEach(async () => {
  environment = { DATABASE_URL: await newDatabase() }
})

interface Times {
  expired?: number
  revoked?: number
}

/** Stores tokens that expired or were revoked this many days ago; a negative number is in the future. */
async function storeTokens(tokens: Record<string, Times>): Promise<void> {
  const time = (days?: number) => (days === undefined ? 'NULL' : `'${new Date(Date.now() - days * DAY).toISOString()}'`)
  const rows = Object.entries(tokens).map(
    ([id, { expired, revoked }]) =>
      `('${id}', 'hash of ${id}', 'alice', 'read', '2020-01-01T00:00:00.000Z', ${time(expired)}, ${time(revoked)})`,
  )
  await runSql(
    environment.DATABASE_URL,
    `INSERT INTO "Token" ("id", "hash", "account", "scopes", "createdAt", "expiresAt", "revokedAt") VALUES ${rows.join(', ')}`,
  )
}

async function listIds(): Promise<string[]> {
  const { stdout } = await runCommand(['token', 'list', '--json'], environment)
  return JSON.parse(stdout).map(({ id }: { id: string }) => id)
}

const prune = (...options: string[]) => runCommand(['token', 'prune', ...options], environment)

test('prune deletes what expired or was revoked over 30 days ago, and logs each for audits', async () => {
  await storeTokens({
    'a-forever': {},
    'b-valid': { expired: -1 },
    'c-expired-lately': { expired: 29 },
    'd-revoked-lately': { revoked: 29 },
    'e-expired': { expired: 31 },
    'f-revoked': { revoked: 31, expired: -90 },
    'g-both': { revoked: 40, expired: 35 },
  })
  const preview = await prune('--dry-run')
  expect(preview).toMatchObject({ exitCode: 0, stderr: '' })
  expect(preview.stdout).toMatch(
    /^ID .*\ne-expired .*\nf-revoked .*\ng-both .*\n\n3 tokens that .* would be deleted\n$/,
  )
  expect(await listIds()).toHaveLength(7)

  const { exitCode, stdout, stderr } = await prune()
  expect([exitCode, stdout]).toEqual([
    0,
    expect.stringMatching(/^deleted 3 tokens that expired or were revoked before \d/),
  ])
  const events = stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(events.map(({ event, tokenId, account }) => [event, tokenId, account])).toEqual(
    ['e-expired', 'f-revoked', 'g-both'].map((id) => ['token pruned', id, 'alice']),
  )
  expect(stderr).not.toContain('hash of')
  expect(await listIds()).toEqual(['a-forever', 'b-valid', 'c-expired-lately', 'd-revoked-lately'])
  expect((await prune()).stdout).toMatch(/^deleted 0 tokens that /)
}, 60_000)

test('--older-than sets how long ago, and more tokens than a statement deletes are all deleted', async () => {
  await storeTokens(Object.fromEntries(Array.from({ length: 1_201 }, (_, index) => [`id${index}`, { expired: 2 }])))
  expect((await prune('--older-than', '3d')).stdout).toMatch(/^deleted 0 tokens /)
  expect((await prune('--older-than', '36h')).stdout).toMatch(/^deleted 1201 tokens /)
  expect(await listIds()).toEqual([])
}, 60_000)

test('the plants of a pruned token stay, and the other tokens of its account still see them', async () => {
  const create = async () =>
    JSON.parse((await runCommand(['token', 'create', '--account', 'alice', '--json'], environment)).stdout)
  const [old, current] = [await create(), await create()]
  const server = await startServerProcess(environment)
  try {
    const call = (token: string, method = 'GET') =>
      fetch(`${server.url}/plants`, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(method === 'POST' && { body: '{"id":1,"name":"Ficus"}' }),
      })
    expect((await call(old.token, 'POST')).status).toBe(200)
    await runCommand(['token', 'revoke', old.id], environment)
    await runSql(
      environment.DATABASE_URL,
      `UPDATE "Token" SET "revokedAt" = '2020-01-01T00:00:00.000Z' WHERE "id" = '${old.id}'`,
    )
    expect((await prune()).stdout).toMatch(/^deleted 1 token that expired or was revoked /)
    await expect.poll(async () => (await call(old.token)).status).toBe(401)
    expect(await (await call(current.token)).json()).toEqual([{ name: 'Ficus' }])
  } finally {
    await server.end()
  }
}, 60_000)

test.each(['0', 'soon', '36501d'])('--older-than %s is rejected with exit code 2', async (time) => {
  const { exitCode, stdout, stderr } = await prune('--older-than', time)
  expect([exitCode, stdout]).toEqual([2, ''])
  expect(stderr).toMatch(/^plant-store: --older-than must be a time between 1ms and 36500d, such as 12h or 90d\n$/)
})
