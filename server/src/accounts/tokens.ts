import { createHash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { type Scope, ScopeSchema } from '@plant-store/contract'
import type { TokenRow, Tokens } from '@plant-store/prisma'
import type { Logger } from 'pino'
import { oncePerTurn } from '../requests/once-per-turn.ts'
import { auditLogger } from '../telemetry/log.ts'
import type { FindToken } from './authentication.ts'

/** A token as it is stored: everything but the token itself. */
export type Token = TokenRow

/** What to create a token with. */
export interface NewToken {
  account: string
  /** Default: all scopes. */
  scopes?: readonly Scope[] | undefined
  /** Default: it does not expire. */
  expiresAt?: Date | null | undefined
  /** A note for people, such as what the token is for. */
  label?: string | null | undefined
}

/** Whether a token can be used, or why not. */
export type TokenState = 'active' | 'expired' | 'revoked'

const ACCOUNT_NAME = /^[\p{L}\p{M}\p{N}\p{P}\p{S}](?:[\p{L}\p{M}\p{N}\p{P}\p{S} ]{0,198}[\p{L}\p{M}\p{N}\p{P}\p{S}])?$/u

/** Creates a token among those of a database. The result is the only place where it is ever seen. */
export async function createNewToken(
  tokens: Tokens,
  { account, scopes = ScopeSchema.options, expiresAt = null, label = null }: NewToken,
): Promise<Token & { token: string }> {
  const token = generateToken()
  const id = randomBytes(6).toString('hex')
  const row = await tokens.create({ id, hash: hashToken(token), account, scopes, label, expiresAt })
  return { ...row, token }
}

/** Looks up the tokens that this service has created. */
export function createOwnTokenLookup(tokens: Tokens): FindToken {
  // Once it is stale in the cache, all requests with a busy token look it up.
  const find = oncePerTurn(tokens.find)
  return async (text) => {
    const token = isWellFormedToken(text) ? await find(hashToken(text)) : undefined
    if (!token) return 'tokenInvalid'
    if (tokenState(token) !== 'active') return 'tokenEnded'
    const expiresAt = token.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY
    return { identity: { account: token.account, tokenId: token.id, scopes: knownScopes(token.scopes) }, expiresAt }
  }
}

/** Returns the state of a token now. One that was revoked stays so, also once it would have expired. */
export function tokenState({ expiresAt, revokedAt }: Pick<Token, 'expiresAt' | 'revokedAt'>): TokenState {
  if (revokedAt) return 'revoked'
  // An invalid date is NaN, which must not mean forever.
  return expiresAt === null || expiresAt.getTime() > Date.now() ? 'active' : 'expired'
}

/** Whether text can name an account: people can read and type it, and JSON, SQL and terminals keep it. */
export function isAccountName(text: string): boolean {
  return ACCOUNT_NAME.test(text)
}

/** Logs what happened to a token, for audits: its id and what it may do, never the token or its hash. */
export function logTokenEvent(
  logger: Logger,
  event: 'token created' | 'token revoked',
  { id, account, scopes, expiresAt }: Token,
): void {
  auditLogger(logger).info({ event, tokenId: id, account, scopes, expiresAt }, event)
}

/** Returns the scopes of this service among some names. */
export function knownScopes(names: readonly string[]): Scope[] {
  return ScopeSchema.options.filter((scope) => names.includes(scope))
}

/**
 * A token is `pst_`, 32 random bytes in base62, and the CRC-32 of that in base62: a mistyped or truncated one is
 * rejected without the database, leak scanners find it, and a double click selects all of it. GitHub's tokens are
 * similar (https://github.blog/2021-04-05-behind-githubs-new-authentication-token-formats/).
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
