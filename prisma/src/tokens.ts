import { randomBytes } from 'node:crypto'
import type { OpenedDatabase, Prisma, Statements } from './engine.ts'

/** The tokens of all accounts. */
export interface Tokens {
  /** Stores a token. Rejects if its id or hash is taken. */
  create(token: NewTokenRow): Promise<TokenRow>
  /** Returns all tokens, or those of an account, oldest first. */
  list(account?: string): Promise<TokenRow[]>
  /**
   * Revokes a token; undefined where no token has this id. Revoking it again keeps the first time; `isNew` is whether
   * this call, and no other, has revoked it.
   */
  revoke(id: string): Promise<(TokenRow & { readonly isNew: boolean }) | undefined>
  /** Returns the tokens with these hashes, in order, even if they are expired or revoked. */
  find(hashes: readonly string[]): Promise<(FoundToken | undefined)[]>
}

/** A token as it is stored: everything but the token itself. */
export interface TokenRow {
  /** Names it in `token list`, in `token revoke` and in logs. */
  readonly id: string
  readonly account: string
  readonly scopes: readonly string[]
  readonly label: string | null
  readonly createdAt: Date
  /** When it expires; `null`: never. */
  readonly expiresAt: Date | null
  /** When it was revoked; `null`: it was not. */
  readonly revokedAt: Date | null
}

/** What a lookup finds of a token. */
export type FoundToken = Omit<TokenRow, 'label' | 'createdAt'>

/** A token to store. */
export interface NewTokenRow extends Omit<TokenRow, 'createdAt' | 'revokedAt'> {
  /** The token's SHA-256, 64 lower-case hexadecimal digits. */
  readonly hash: string
}

const SECRET_BYTES = 32

/** A row of the table, with its scopes separated by spaces. */
type StoredToken = Omit<TokenRow, 'scopes'> & { readonly scopes: string }
/** A row of `selectTokens`. */
type FoundRow = [id: string | null, account: string, scopes: string, expiresAt: Milliseconds, revokedAt: Milliseconds]
/** Since 1970. The engines have different types for it. */
type Milliseconds = bigint | string | null

/** Creates the tokens of a database. The lookup, which is on the way of every request, calls the engine. */
export function createTokens({ read, prisma: { token: table } }: OpenedDatabase, { selectTokens }: Statements): Tokens {
  return {
    create: async ({ scopes, ...token }) =>
      toTokenRow(await table.create({ data: { ...token, scopes: scopes.join(' '), createdAt: new Date() } })),

    async list(account) {
      const where = account === undefined ? {} : { account }
      return (await table.findMany({ where, orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] })).map(toTokenRow)
    },

    async revoke(id) {
      const { count } = await table.updateMany({ where: { id, revokedAt: null }, data: { revokedAt: new Date() } })
      const token = await table.findFirst({ where: { id } })
      return token ? { ...toTokenRow(token), isNew: count > 0 } : undefined
    },

    find: async (hashes) => (await read<FoundRow>(selectTokens, [JSON.stringify(hashes)])).map(fromRow),
  }
}

/**
 * Reads a secret, creating it at its first use. Servers that create it at the same time all get the one stored first.
 */
export async function readSecret({ secret: table }: Prisma, name: string): Promise<Buffer> {
  const find = () => table.findFirst({ where: { name } })
  const data = { name, value: randomBytes(SECRET_BYTES).toString('hex') }
  // Where another server was faster, creating it fails.
  const create = () => table.create({ data }).catch(async (error) => (await find()) ?? Promise.reject(error))
  const { value } = (await find()) ?? (await create())
  return Buffer.from(value, 'hex')
}

function toTokenRow({ id, account, scopes, label, createdAt, expiresAt, revokedAt }: StoredToken): TokenRow {
  return { id, account, scopes: scopes.split(' '), label, createdAt, expiresAt, revokedAt }
}

function fromRow([id, account, scopes, expiresAt, revokedAt]: FoundRow): FoundToken | undefined {
  if (id === null) return undefined
  return { id, account, scopes: scopes.split(' '), expiresAt: toDate(expiresAt), revokedAt: toDate(revokedAt) }
}

function toDate(time: Milliseconds): Date | null {
  return time === null ? null : new Date(Number(time))
}
