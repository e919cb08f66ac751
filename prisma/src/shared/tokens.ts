import type { NewTokenRow, Retry, TokenRow, Tokens } from '../database.ts'

/** The part of the Prisma Clients that reads and writes tokens: each engine has its own client. */
interface TokenTable {
  create(args: { data: Omit<NewTokenRow, 'scopes'> & { scopes: string; createdAt: Date } }): PromiseLike<StoredToken>
  findMany(args: {
    where: { account?: string }
    orderBy: ({ createdAt: 'asc' } | { id: 'asc' })[]
  }): PromiseLike<StoredToken[]>
  findUnique(args: { where: { id: string } | { hash: string } }): PromiseLike<StoredToken | null>
  updateMany(args: { where: { id: string; revokedAt: null }; data: { revokedAt: Date } }): PromiseLike<unknown>
}

type StoredToken = Omit<TokenRow, 'scopes'> & { readonly scopes: string }

/** Creates the tokens of a database over Prisma Client. */
export function createTokens({ token: table }: { token: TokenTable }, retry: Retry): Tokens {
  return {
    async create({ scopes, ...token }) {
      const data = { ...token, scopes: scopes.join(' '), createdAt: new Date() }
      // A retry after a lost response finds what the first attempt has stored.
      const where = { hash: token.hash }
      return toTokenRow(await retry(async () => (await table.findUnique({ where })) ?? table.create({ data })))
    },

    async list(account) {
      const where = account === undefined ? {} : { account }
      const rows = await retry(async () => table.findMany({ where, orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] }))
      return rows.map(toTokenRow)
    },

    async revoke(id) {
      await retry(async () => table.updateMany({ where: { id, revokedAt: null }, data: { revokedAt: new Date() } }))
      const row = await retry(async () => table.findUnique({ where: { id } }))
      return row ? toTokenRow(row) : undefined
    },

    async find(hash) {
      const row = await retry(async () => table.findUnique({ where: { hash } }))
      return row ? toTokenRow(row) : undefined
    },
  }
}

function toTokenRow({ id, account, scopes, label, createdAt, expiresAt, revokedAt }: StoredToken): TokenRow {
  return { id, account, scopes: scopes.split(' '), label, createdAt, expiresAt, revokedAt }
}
