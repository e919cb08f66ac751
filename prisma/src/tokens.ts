import type { Retry, TokenRow, Tokens } from './database.ts'
import type { PrismaClient, Token } from './generated/client.ts'

/** Creates the tokens of a database over Prisma Client. */
export function createTokens({ token: table }: Pick<PrismaClient, 'token'>, retry: Retry): Tokens {
  return {
    async create({ scopes, ...token }) {
      const data = { ...token, scopes: scopes.join(' '), createdAt: new Date() }
      return toTokenRow(await retry(() => table.create({ data })))
    },

    async list(account) {
      const where = account === undefined ? {} : { account }
      const rows = await retry(() => table.findMany({ where, orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] }))
      return rows.map(toTokenRow)
    },

    async revoke(id) {
      await retry(() => table.updateMany({ where: { id, revokedAt: null }, data: { revokedAt: new Date() } }))
      const row = await retry(() => table.findUnique({ where: { id } }))
      return row ? toTokenRow(row) : undefined
    },

    async find(hash) {
      const row = await table.findUnique({ where: { hash } })
      return row ? toTokenRow(row) : undefined
    },
  }
}

function toTokenRow({ id, account, scopes, label, createdAt, expiresAt, revokedAt }: Token): TokenRow {
  return { id, account, scopes: scopes.split(' '), label, createdAt, expiresAt, revokedAt }
}
