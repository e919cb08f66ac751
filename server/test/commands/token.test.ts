/** The commands that create, list and revoke tokens. */
import { Writable } from 'node:stream'
import { beforeEach, expect, test } from 'vitest'
import { engine, newDatabase, runSql } from '../../../test/helpers/database/databases.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { runCommandLine } from '../../src/commands/command-line.ts'
import { openMemory } from '../helpers/log-lines.ts'
import { runInProcess } from '../helpers/run-in-process.ts'

const DAY = 86_400_000

let environment: { DATABASE_URL: string }
beforeEach(async () => {
  environment = { DATABASE_URL: await newDatabase() }
})

const run = (...args: string[]) => runInProcess(['token', ...args], environment)
const create = async (...options: string[]) => (await run('create', '--account', 'alice', ...options)).stdout.trim()
const list = async (...options: string[]) => JSON.parse((await run('list', '--json', ...options)).stdout)

test('create prints only the token, which a server accepts immediately, and logs what it may do', async () => {
  await using server = await startTestServer({ databaseUrl: environment.DATABASE_URL })
  const { exitCode, stdout, stderr } = await run('create', '--account', 'alice', '--scope', 'read,read')
  expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^pst_[0-9A-Za-z]{49}\n$/)])
  expect((await server.call('/plants', { token: stdout.trim() })).status).toBe(200)
  const event = { event: 'token created', level: 'info', account: 'alice', scopes: ['read'], expiresAt: null }
  expect(JSON.parse(stderr)).toMatchObject({ ...event, tokenId: (await list()).at(-1).id })
  expect(stderr).not.toMatch(/pst_|[0-9a-f]{64}/)
})

test('create and revoke exit with 1 where the line that logs them is not written', async () => {
  const token = await create()
  const stdout = openMemory()
  const failing = () => new Writable({ write: (_chunk, _encoding, done) => done(new Error('no space left on device')) })
  const run = (...args: string[]) =>
    runCommandLine(['token', ...args], { environment, stdout: stdout.stream, stderr: failing() })
  expect(await run('create', '--account', 'bob')).toBe(1)
  expect(stdout.text()).toMatch(/^pst_\w{49}\n$/)
  const [{ id }, { state }] = await list()
  expect([token.length, state]).toEqual([53, 'active'])
  expect(await run('revoke', id)).toBe(1)
  expect(await run('list')).toBe(0)
})

test('create --json prints the token with what it is for, which list shows too', async () => {
  const label = 'a\u001b]0;title\u0007b\r\nc\u0085d\u2028\u202e\u{e0001} 🌾 é'
  const options = ['--scope', 'read', '--expires', '90d', '--label', label]
  const { token, ...created } = JSON.parse(await create('--json', ...options))
  expect(token).toMatch(/^pst_[0-9A-Za-z]{49}$/)
  expect(created).toEqual({
    id: expect.stringMatching(/^[0-9a-f]{12}$/),
    account: 'alice',
    scopes: ['read'],
    expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    label,
  })
  const other = JSON.parse(await create('--json', '--expires', '999999d'))
  expect(other).toMatchObject({ scopes: ['read', 'write'], expiresAt: expect.stringMatching(/^4/), label: null })
  const json = await run('list', '--json', '--account', 'alice')
  const [listed] = JSON.parse(json.stdout)
  expect(listed).toMatchObject({ ...created, state: 'active', revokedAt: null })
  expect(Math.round((Date.parse(listed.expiresAt) - Date.parse(listed.createdAt)) / DAY)).toBe(90)
  const { stdout: table } = await run('list')
  // A terminal gets nothing that it acts on.
  expect(table).toMatch(/^ID +STATE +ACCOUNT +SCOPES +CREATED +EXPIRES +REVOKED +LABEL\n/)
  const shown = String.raw` a\u001b]0;title\u0007b\u000d\u000ac\u0085d\u2028\u202e\udb40\udc01 🌾 é`
  expect(table).toContain(`${shown}\n`)
  expect((table + json.stdout).replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
  for (const secret of [token, other.token]) expect(table + json.stdout).not.toContain(secret)
  expect(await list('--account', 'bob')).toEqual([])
})

// One test, so that they share a database.
test('what is invalid is rejected with exit code 2 and says what to do', async () => {
  for (const [command, message] of Object.entries({
    create: /^plant-store: name the account .* with --account\n$/,
    'create --account a --scope admin': /^plant-store: --scope must be read or write, .*\n$/,
    'create --account ': /^plant-store: --account must be 1 to 200 visible characters\n$/,
    'create --account a --expires 1000000d': /^plant-store: --expires must be .* between 1ms and 999999d, .*\n$/,
    'create --acount a': /^plant-store: unknown option '--acount'\n\(Did you mean --account\?\)\n$/,
  })) {
    const result = { exitCode: 2, stdout: '', stderr: expect.stringMatching(message) }
    expect(await run(...command.split(' ')), command).toEqual(result)
  }
})

test('list marks tokens that expired or were revoked, and --active leaves them out', async () => {
  const ids = []
  for (const expires of ['90d', '90d', '1ms']) ids.push(JSON.parse(await create('--json', '--expires', expires)).id)
  const [active, revoked, expired] = ids
  await run('revoke', revoked)
  const states = { [active]: 'active', [revoked]: 'revoked', [expired]: 'expired' }
  expect(Object.fromEntries((await list()).map(({ id, state }: Record<string, string>) => [id, state]))).toEqual(states)
  const [, ...rows] = (await run('list')).stdout.trimEnd().split('\n')
  expect(Object.fromEntries(rows.map((row) => row.split(/ +/)))).toEqual(states)
  expect(await list('--active')).toMatchObject([{ id: active }])
})

test('list shows times that are none as invalid, and their tokens are not active', async () => {
  const times = { sqlite: ['9000000000000000', "'tomorrow'", '1e300'], postgresql: ["'infinity'", "'-infinity'"] }[
    engine
  ]
  const rows = times.map((time, id) => `('${id}', '${id}', 'alice', 'read', ${time})`)
  const insert = `INSERT INTO "Token" ("id", "hash", "account", "scopes", "expiresAt") VALUES ${rows}`
  await runSql(environment.DATABASE_URL, insert)
  expect((await run('list')).stdout.match(/ expired .* invalid +-\n/g)).toHaveLength(times.length)
  const shown = { state: 'expired', expiresAt: 'invalid', revokedAt: null }
  expect(await list()).toMatchObject(times.map(() => shown))
  expect(await list('--active')).toEqual([])
  await runSql(environment.DATABASE_URL, 'UPDATE "Token" SET "revokedAt" = "expiresAt"')
  for (const id of times.keys())
    expect((await run('revoke', `${id}`)).stdout).toMatch(/ was already revoked at invalid\n$/)
})

test('of several that revoke a token, one does, and logs it; an unknown id fails', async () => {
  expect(await run('revoke', 'no such')).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: 'plant-store: token "no such" does not exist; list them with: npm run --silent plant-store -- token list\n',
  })
  const { id } = JSON.parse(await create('--json'))
  // At the same time.
  const results = await Promise.all(Array.from({ length: 3 }, () => run('revoke', id)))
  const [revoked, ...others] = results.toSorted((one, other) => other.stderr.length - one.stderr.length)
  expect(revoked).toMatchObject({ exitCode: 0, stdout: `revoked ${id} of the account "alice"\n` })
  expect(JSON.parse(revoked?.stderr ?? '')).toMatchObject({ event: 'token revoked', tokenId: id, account: 'alice' })
  const [{ revokedAt }] = await list()
  const stdout = `${id} of the account "alice" was already revoked at ${revokedAt}\n`
  expect(others).toEqual(Array(2).fill({ exitCode: 0, stdout, stderr: '' }))
  await runSql(environment.DATABASE_URL, `UPDATE "Token" SET "account" = 'a\u202eb\u009b', "revokedAt" = NULL`)
  const [output, terminal] = [openMemory(), openMemory()]
  const streams = { stdout: output.stream, stderr: Object.assign(terminal.stream, { isTTY: true }) }
  expect(await runCommandLine(['token', 'revoke', id], { environment, ...streams })).toBe(0)
  expect(output.text()).toBe(`revoked ${id} of the account "a\\u202eb\\u009b"\n`)
  expect(terminal.text()).toContain('"account":"a?b?"')
})
