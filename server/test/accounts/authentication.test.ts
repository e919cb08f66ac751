/** Which requests are authenticated. The conformance suite of the client has the scopes of every operation. */
import { createHash } from 'node:crypto'
import { contract } from '@plant-store/contract'
import { expect, onTestFinished, test, vi } from 'vitest'
import { engine, query, runSql } from '../../../test/helpers/database/databases.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { createAuthentication } from '../../src/accounts/authentication.ts'
import { generateToken, isWellFormedToken } from '../../src/accounts/tokens.ts'
import { get, NO_TOKEN } from '../helpers/requests.ts'
import { accepts, rejects } from '../helpers/wire.ts'

const CHALLENGE = { headers: { 'WWW-Authenticate': 'Bearer realm="plant-store"' } }
const INVALID = { headers: { 'WWW-Authenticate': 'Bearer realm="plant-store", error="invalid_token"' } }

const server = await startTestServer()

function withAuthorization(value: string): string {
  return get('/plants', { Authorization: value })
}

test.each(['Basic dXNlcjpwYXNz', 'Bearer<token>', ''])('"%s" is not a bearer token', (authorization) =>
  rejects(server, withAuthorization(authorization), 40101, CHALLENGE),
)

test('the scheme is case-insensitive, and several spaces may follow', () =>
  accepts(server, withAuthorization('bEaReR     <token>')))

const changed = server.token.slice(0, -1) + (server.token.endsWith('a') ? 'b' : 'a')
const unknown = [generateToken(), changed, 'x', 'pst_', '<token>x', '<token>!'].map((token) => `Bearer ${token}`)
test.each([
  ...['Bearer', 'Bearer\t<token>', 'Bearer <token>,<token>', 'Bearer <token> x', 'Bearer "<token>"', 'Bearer \xfc'],
  ...unknown,
  `Bearer ${' '.repeat(10_000)}!`,
])('a malformed or an unknown token gets a 401, the same: %.40s', (authorization) =>
  rejects(server, withAuthorization(authorization), 40102, {
    ...INVALID,
    message: /^The token is malformed or unknown/,
  }),
)

test('a token of more than 4096 characters gets a 401 that says so', async () => {
  const withLength = (length: number) => withAuthorization(`Bearer ${'pst_'.padEnd(length, 'a')}`)
  const message = /more than 4096 characters\. Get a shorter one/
  await rejects(server, withLength(4097), 40102, { ...INVALID, message })
  await rejects(server, withLength(4096), 40102, { ...INVALID, message: /malformed or unknown/ })
})

test('a token in the query is ignored', () =>
  rejects(server, get('/plants?access_token=<token>', NO_TOKEN), 40101, CHALLENGE))

// A number of their own, so that the owner knows to get another token.
test('a token that has expired, has an expiry no date can be, or is revoked gets a 401 (40103)', async () => {
  const expired = await server.createToken({ expiresAt: new Date(Date.now() - 1) })
  const byHand = await server.createToken()
  const time = engine === 'sqlite' ? '9000000000000000' : "'-infinity'"
  await runSql(server.databaseUrl, `UPDATE "Token" SET "expiresAt" = ${time} WHERE "id" = '${byHand.id}'`)
  const revoked = await server.createToken()
  await server.revoke(revoked.id)
  for (const { token } of [expired, byHand, revoked]) await rejects({ ...server, token }, get(), 40103, INVALID)
})

test('a token without the scope of the request gets a 403 that names it', async () => {
  const { token } = await server.createToken({ scopes: ['write'] })
  const challenge = 'Bearer realm="plant-store", error="insufficient_scope", scope="read"'
  await rejects({ ...server, token }, get(), 40301, { headers: { 'WWW-Authenticate': challenge } })
})

test('a revoked token is rejected within one second, in every process', async () => {
  await using other = await startTestServer({ databaseUrl: server.databaseUrl })
  const { id, token } = await server.createToken()
  const statuses = () => Promise.all([server, other].map(async ({ call }) => (await call('/plants', { token })).status))
  expect(await statuses()).toEqual([200, 200])
  await other.revoke(id)
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 1_000)
  onTestFinished(() => clock.mockRestore())
  expect(await statuses()).toEqual([401, 401])
})

test('a lookup that took long does not keep a revoked token valid', async () => {
  let now = performance.now()
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  onTestFinished(() => clock.mockRestore())
  const find = vi.fn(async () => {
    now += 1_500
    return { identity: { account: 'alice', tokenId: 'slow', scopes: [] }, expiresAt: Number.POSITIVE_INFINITY }
  })
  const authenticate = createAuthentication(find)
  const request = { headers: { authorization: 'Bearer slow' }, tsRestRoute: contract.getPlants } as never
  for (const lookups of [1, 2]) {
    await expect(authenticate(request)).rejects.toMatchObject({ errorName: 'scopeMissing' })
    expect(find).toHaveBeenCalledTimes(lookups)
  }
})

test('a token is pst_ and 43 characters of base62, with a checksum in CRC-32, and is unique', () => {
  const tokens = Array.from({ length: 1000 }, generateToken)
  expect(new Set(tokens).size).toBe(tokens.length)
  // zlib.crc32(b"pst_" + b"0" * 43) in Python is 356373904, which is 0O7J8C in base62; with
  // 160 at the end it is 1118115873.
  tokens.push(`pst_${'0'.repeat(43)}0O7J8C`, `pst_${'0'.repeat(40)}1601DfV0z`)
  for (const token of tokens) {
    expect(token).toMatch(/^pst_[0-9A-Za-z]{49}$/)
    expect(isWellFormedToken(token)).toBe(true)
  }
  // The checksums of these are valid.
  const others = [`xst_${'0'.repeat(43)}4FWDVK`, `xpst_${'0'.repeat(43)}4MK9fC`, `pst_${'0'.repeat(42)}-2AF5cP`]
  for (const text of [...others, `pst_${'0'.repeat(42)}4G457b`, `pst_${'0'.repeat(44)}05Om5g`]) {
    expect(isWellFormedToken(text), text).toBe(false)
  }
})

test('of a token only the SHA-256 is stored', async () => {
  const stored = JSON.stringify(await query(server.databaseUrl, 'SELECT * FROM "Token"'))
  expect(stored).toContain(createHash('sha256').update(server.token).digest('hex'))
  expect(stored).not.toContain(server.token)
})
