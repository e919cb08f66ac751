import { createHash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

/**
 * A token is `pst_`, 32 random bytes in base62, and the CRC-32 of that in base62: a mistyped or truncated one is rejected
 * without the database, leak scanners find it, and a double click selects all of it. GitHub's tokens are similar
 * (https://github.blog/2021-04-05-behind-githubs-new-authentication-token-formats/).
 */
const PREFIX = 'pst_'
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SECRET_BYTES = 32
/** 62^43 > 2^256 */
const SECRET_LENGTH = 43
/** 62^6 > 2^32 */
const CHECKSUM_LENGTH = 6
const SHAPE = new RegExp(`^${PREFIX}[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`)

/** Generates a token. */
export function generateToken(): string {
  const secret = BigInt(`0x${randomBytes(SECRET_BYTES).toString('hex')}`)
  const unchecked = PREFIX + base62(secret, SECRET_LENGTH)
  return unchecked + checksum(unchecked)
}

/** Whether text has the shape and checksum of a token of this service. */
export function isWellFormedToken(text: string): boolean {
  return SHAPE.test(text) && text.endsWith(checksum(text.slice(0, -CHECKSUM_LENGTH)))
}

/** Hashes a token with SHA-256: only this is stored. A token is random, so a slow hash is not needed. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

function checksum(text: string): string {
  return base62(BigInt(crc32(text)), CHECKSUM_LENGTH)
}

function base62(number: bigint, length: number): string {
  let text = ''
  for (let rest = number; rest > 0n; rest /= 62n) text = ALPHABET[Number(rest % 62n)] + text
  return text.padStart(length, '0')
}
