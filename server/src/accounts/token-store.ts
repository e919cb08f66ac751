import { randomBytes } from 'node:crypto'
import { type Scope, ScopeSchema } from '@plant-store/contract'
import type { PrismaClient } from '@plant-store/prisma'
import { retryWhileBusy } from '../storage/retry-while-busy.ts'
import { generateToken, hashToken } from './token-format.ts'

/** A token as it is stored: everything but the token. */
export interface Token {
  /** Names it in `token list` and `token revoke`, and in logs. */
  id: string
  /** The account that it belongs to. */
  account: string
  scopes: Scope[]
  label: string | null
  createdAt: Date
  /** From then on it is refused; `null`: never. */
  expiresAt: Date | null
  /** Since then it is refused; `null`: it is not revoked. */
  revokedAt: Date | null
}

/** What a new token shall be. */
export interface NewToken {
  account: string
  /** Default: all scopes. */
  scopes?: readonly Scope[] | undefined
  /** Default: it does not expire. */
  expiresAt?: Date | undefined
  /** A note for people, such as what the token is for. */
  label?: string | undefined
}

/** Where the tokens of all accounts are kept. */
export interface TokenStore {
  /** Makes a token. The answer is the only place where it is ever seen. */
  create(token: NewToken): Promise<Token & { token: string }>
  /** All tokens, or those of an account, the oldest first. */
  list(account?: string): Promise<Token[]>
  /** Revokes a token, once and for all; gives nothing where there is no token with this id. */
  revoke(id: string): Promise<Token | undefined>
  /** The token with this hash, expired and revoked ones too. */
  find(hash: string): Promise<Token | undefined>
}

/**
 * Makes the token store over a database.
 *
 * @param patience how long to try while another process holds the lock, in milliseconds; default: as long as a request
 *   does
 */
export function createTokenStore(prisma: PrismaClient, patience?: number): TokenStore {
  const patiently = <T>(run: () => Promise<T>): Promise<T> => retryWhileBusy(run, patience)
  return {
    async create({ account, scopes = ScopeSchema.options, expiresAt, label }) {
      const token = generateToken()
      const data = {
        id: randomBytes(6).toString('hex'),
        hash: hashToken(token),
        account,
        scopes: scopes.join(' '),
        label: label ?? null,
        createdAt: new Date(),
        expiresAt: expiresAt ?? null,
      }
      const row = await patiently(() => prisma.token.create({ data }))
      return { ...toToken(row), token }
    },

    async list(account) {
      const rows = await patiently(() =>
        prisma.token.findMany({
          ...(account !== undefined && { where: { account } }),
          orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
        }),
      )
      return rows.map(toToken)
    },

    async revoke(id) {
      const where = { id, revokedAt: null }
      await patiently(() => prisma.token.updateMany({ where, data: { revokedAt: new Date() } }))
      const row = await patiently(() => prisma.token.findUnique({ where: { id } }))
      return row ? toToken(row) : undefined
    },

    async find(hash) {
      const row = await prisma.token.findUnique({ where: { hash } })
      return row ? toToken(row) : undefined
    },
  }
}

type TokenRow = Awaited<ReturnType<PrismaClient['token']['findUniqueOrThrow']>>

function toToken({ id, account, scopes, label, createdAt, expiresAt, revokedAt }: TokenRow): Token {
  return { id, account, scopes: ScopeSchema.array().parse(scopes.split(' ')), label, createdAt, expiresAt, revokedAt }
}
