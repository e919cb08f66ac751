import { expect, test } from 'vitest'
import { signToken, useTokenIssuer } from '../helpers/accounts/token-issuer.ts'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
/** The order of the curve P-256. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

const issuer = useTokenIssuer({ rateLimit: { requests: 3, seconds: 3_600 } })

async function statusOf(token: string): Promise<number> {
  return (await issuer.server.call('/plants', { token })).status
}

/** Returns other spellings of a part that lenient decoders read as the same bytes. */
function respell(part: string): string[] {
  const unusedBits = { 0: 0, 2: 4, 3: 2 }[part.length % 4] ?? 0
  const last = ALPHABET.indexOf(part.at(-1) ?? '')
  const others = Array.from({ length: 2 ** unusedBits - 1 }, (_, bits) => ALPHABET[last + bits + 1])
  const plain = part.replaceAll('-', '+').replaceAll('_', '/')
  return [...others.map((letter) => part.slice(0, -1) + letter), ...(plain === part ? [] : [plain])]
}

/** Returns the signature with n - s in place of s, which is equally valid. */
function negate(signature: string): string {
  const bytes = Buffer.from(signature, 'base64url')
  const negated = (ORDER - BigInt(`0x${bytes.subarray(32).toString('hex')}`)).toString(16).padStart(64, '0')
  return Buffer.concat([bytes.subarray(0, 32), Buffer.from(negated, 'hex')]).toString('base64url')
}

test('another spelling of a part of a token gets a 401', async () => {
  // Claims of different lengths, so that some parts have unused bits.
  for (const note of ['', 'a', 'aa']) {
    const parts = (await signToken(issuer.key, { sub: `spelled${note}`, note })).split('.')
    const respelled = parts.flatMap((part, index) => respell(part).map((other) => parts.with(index, other).join('.')))
    for (const token of [...respelled, `${parts.join('.')}=`, `${parts.join('.')}==`]) {
      expect(await statusOf(token)).toBe(401)
    }
    expect(await statusOf(parts.join('.'))).toBe(200)
  }
})

test('all tokens of a subject share one rate limit, however they are signed', async () => {
  const first = await signToken(issuer.key, { sub: 'eve' })
  const [header, payload, signature = ''] = first.split('.')
  expect(await statusOf(first)).toBe(200)
  expect(await statusOf(`${header}.${payload}.${negate(signature)}`)).toBe(200)
  expect(await statusOf(await signToken(issuer.key, { sub: 'eve', jti: '2', scope: 'read' }))).toBe(200)
  expect(await statusOf(first)).toBe(429)
  expect(await statusOf(await signToken(issuer.key, { sub: 'eve', jti: '3' }))).toBe(429)

  expect(await statusOf(await signToken(issuer.key, { sub: 'mallory' }))).toBe(200)
  const own = await Promise.all([
    issuer.server.createToken({ account: 'eve' }),
    issuer.server.createToken({ account: 'eve' }),
  ])
  for (const { token } of own) expect(await statusOf(token)).toBe(200)
})
