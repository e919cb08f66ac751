/** The commands that create, list and revoke tokens. */
import { beforeEach, expect, test } from 'vitest'
import { newDatabase, runSql } from '../../../test/helpers/database/databases.ts'
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
  expect(table).toMatch(/^ID +STATE +ACCOUNT +SCOPES +CREATED +EXPIRES +REVOKED +LABEL\n/)
  expect(table).toContain('for the greenhouse')
  for (const token of tokens) expect(table + json).not.toContain(token)
  expect((await runCommand(['token', 'list', '--account', 'bob', '--json'], environment)).stdout).toBe('[]\n')
}, 60_000)

test('create --json prints the token with what it is for', async () => {
  const options = ['--scope', 'read', '--expires', '90d', '--label', 'for the greenhouse', '--json']
  const created = JSON.parse(await create(...options))
  expect(created).toEqual({
    token: expect.stringMatching(/^pst_[0-9A-Za-z]{49}$/),
    id: expect.stringMatching(/^[0-9a-f]{12}$/),
    account: 'alice',
    scopes: ['read'],
    expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    label: 'for the greenhouse',
  })
  expect(JSON.parse(await create('--json'))).toMatchObject({ scopes: ['read', 'write'], expiresAt: null, label: null })
  const [listed] = JSON.parse((await runCommand(['token', 'list', '--json'], environment)).stdout)
  expect(listed).toMatchObject({ id: created.id, expiresAt: created.expiresAt })
})

test('list marks tokens that expired or were revoked, and --active leaves them out', async () => {
  const created: Record<string, string> = {}
  for (const [name, ...options] of [['active', '--expires', '90d'], ['revoked'], ['expired', '--expires', '1ms']]) {
    created[String(name)] = JSON.parse(await create(...options, '--json')).id
  }
  await runCommand(['token', 'revoke', String(created['revoked'])], environment)
  const list = async (...options: string[]) => (await runCommand(['token', 'list', ...options], environment)).stdout
  const states = async (...options: string[]) =>
    Object.fromEntries(
      JSON.parse(await list('--json', ...options)).map(({ id, state }: Record<string, string>) => [id, state]),
    )
  const all = Object.fromEntries(Object.entries(created).map(([state, id]) => [id, state]))
  expect(await states()).toEqual(all)
  const [, ...rows] = (await list()).trimEnd().split('\n')
  expect(Object.fromEntries(rows.map((row) => row.split(/ +/)))).toEqual(all)

  expect(await states('--active')).toEqual({ [String(created['active'])]: 'active' })
  expect((await list('--active')).trimEnd().split('\n')).toHaveLength(2)
}, 60_000)

test('list escapes what a terminal would act on or not show, and --json still has it exactly', async () => {
  const label = 'a\u001b]0;title\u0007b\r\nc\u0085d\u202ee\u2066f\u{e0041}g \u2028 🌱👩\u200d🌾 é \\n'
  await create('--label', label)
  await runSql(environment.DATABASE_URL, `UPDATE "Token" SET "account" = 'al\u001b[2Jice\u200b'`)
  const shown =
    'a\\u001b]0;title\\u0007b\\u000d\\u000ac\\u0085d\\u202ee\\u2066f\\udb40\\udc41g \\u2028 🌱👩\u200d🌾 é \\n'
  const { stdout: table } = await runCommand(['token', 'list'], environment)
  expect(table).toContain(shown)
  expect(table).toContain('al\\u001b[2Jice\\u200b')
  const { stdout: json } = await runCommand(['token', 'list', '--json'], environment)
  const [token] = JSON.parse(json)
  expect([token.label, token.account]).toEqual([label, 'al\u001b[2Jice\u200b'])
  const revoked = await runCommand(['token', 'revoke', token.id], environment)
  expect(revoked.stdout).toContain('"al\\u001b[2Jice\\u200b"')
  const unsafe = /(?!\n)\p{Cc}|\p{Zl}|(?!\u200d)\p{Cf}/u
  for (const output of [table, json, revoked.stdout]) expect(output).not.toMatch(unsafe)
}, 60_000)

test('revoke fails for an unknown id, and keeps the time of a token that is revoked already', async () => {
  const unknown = await runCommand(['token', 'revoke', 'no\u001bsuch'], environment)
  expect(unknown).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: 'plant-store: token "no\\u001bsuch" does not exist; list them with: plant-store token list\n',
  })
  const { id } = JSON.parse(await create('--json'))
  await runCommand(['token', 'revoke', id], environment)
  const [{ revokedAt }] = JSON.parse((await runCommand(['token', 'list', '--json'], environment)).stdout)
  expect(await runCommand(['token', 'revoke', id], environment)).toEqual({
    exitCode: 0,
    stdout: `${id} of the account "alice" is revoked since ${revokedAt}\n`,
    stderr: '',
  })
}, 60_000)

test('create accepts the longest --expires, and list shows it exactly', async () => {
  await create('--expires', '999999d')
  const [{ createdAt, expiresAt }] = JSON.parse((await runCommand(['token', 'list', '--json'], environment)).stdout)
  expect(Math.round((Date.parse(expiresAt) - Date.parse(createdAt)) / 86_400_000)).toBe(999_999)
})

test.each([
  ['create without an account', ['token', 'create'], /with --account$/m],
  ['an invalid scope', ['token', 'create', '--account', 'a', '--scope', 'admin'], /--scope must be /],
  ['an invalid time', ['token', 'create', '--account', 'a', '--expires', 'soon'], /--expires must be .* 90d/],
  ['a time too long', ['token', 'create', '--account', 'a', '--expires', '1000000d'], /--expires must be .* 999999d/],
  ['an empty account', ['token', 'create', '--account', ''], /--account must be/],
  ['a mistyped command', ['serv'], /Did you mean serve\?/],
  ['a mistyped command of token', ['token', 'crate'], /Did you mean create\?/],
  [
    'a mistyped option',
    ['token', 'create', '--acount', 'a'],
    /unknown option '--acount'\n\(Did you mean --account\?\)/,
  ],
])('%s is rejected with exit code 2 and says what to do', async (_what, args, message) => {
  const { exitCode, stdout, stderr } = await runCommand(args, environment)
  expect([exitCode, stdout]).toEqual([2, ''])
  expect(stderr).toMatch(message)
  expect(stderr).not.toContain('    at ')
})
