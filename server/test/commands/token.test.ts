/** The commands that create, list and revoke tokens. */
import { beforeEach, expect, test } from 'vitest'
import { newDatabase } from '../../../test/helpers/database/databases.ts'
import { runCommand, startServerProcess } from '../../../test/helpers/server/run-command.ts'

let environment: { DATABASE_URL: string }
beforeEach(async () => {
  environment = { DATABASE_URL: await newDatabase() }
})

const create = async (...options: string[]) =>
  (await runCommand(['token', 'create', '--account', 'alice', ...options], environment)).stdout.trim()

test('create prints only the token, which the server accepts immediately', async () => {
  const server = await startServerProcess(environment)
  try {
    const { exitCode, stdout, stderr } = await runCommand(['token', 'create', '--account', 'alice'], environment)
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/^pst_[0-9A-Za-z]{49}\n$/)
    expect(stderr).not.toContain(stdout.trim())
    const headers = { authorization: `Bearer ${stdout.trim()}` }
    expect((await fetch(`${server.url}/plants`, { headers })).status).toBe(200)
  } finally {
    await server.end()
  }
})

test('list shows the options of create but no token, and revoke revokes one', async () => {
  const tokens = [await create('--label', 'for the greenhouse', '--scope', 'read', '--expires', '90d'), await create()]
  const { stdout: json } = await runCommand(['token', 'list', '--json'], environment)
  const [first] = JSON.parse(json)
  expect(first).toMatchObject({ account: 'alice', scopes: ['read'], label: 'for the greenhouse', revokedAt: null })
  const days = (Date.parse(first.expiresAt) - Date.parse(first.createdAt)) / 86_400_000
  expect(Math.round(days)).toBe(90)

  const revoked = await runCommand(['token', 'revoke', first.id], environment)
  expect([revoked.exitCode, revoked.stdout]).toEqual([0, expect.stringContaining(`revoked ${first.id}`)])
  const { stdout: table } = await runCommand(['token', 'list', '--account', 'alice'], environment)
  expect(table).toMatch(/^ID +ACCOUNT +SCOPES +CREATED +EXPIRES +REVOKED +LABEL\n/)
  expect(table).toContain('for the greenhouse')
  for (const token of tokens) expect(table + json).not.toContain(token)
  expect((await runCommand(['token', 'list', '--account', 'bob', '--json'], environment)).stdout).toBe('[]\n')
}, 60_000)

test('create accepts the longest --expires, and list shows it exactly', async () => {
  await create('--expires', '999999d')
  const [{ createdAt, expiresAt }] = JSON.parse((await runCommand(['token', 'list', '--json'], environment)).stdout)
  expect(Math.round((Date.parse(expiresAt) - Date.parse(createdAt)) / 86_400_000)).toBe(999_999)
})

test.each([
  ['create without an account', ['token', 'create'], /--account/],
  ['an invalid scope', ['token', 'create', '--account', 'a', '--scope', 'admin'], /--scope must be /],
  ['an invalid time', ['token', 'create', '--account', 'a', '--expires', 'soon'], /--expires must be .* 90d/],
  ['a time too long', ['token', 'create', '--account', 'a', '--expires', '1000000d'], /--expires must be .* 999999d/],
  ['an empty account', ['token', 'create', '--account', ''], /--account must be/],
  ['an unknown id', ['token', 'revoke', 'unknown'], /token "unknown" does not exist/],
  ['a mistyped command', ['serv'], /Did you mean serve\?/],
])('%s is rejected with exit code 2 and says what to do', async (_what, args, message) => {
  const { exitCode, stdout, stderr } = await runCommand(args, environment)
  expect([exitCode, stdout]).toEqual([2, ''])
  expect(stderr).toMatch(message)
  expect(stderr).not.toContain('    at ')
})
