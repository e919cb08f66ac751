import type { TokenRow, Tokens } from '../database.ts'
import { oncePerTurn } from './once-per-turn.ts'
import type { Access, Dialect, SqlValue } from './sql.ts'

/** A token as SQL reads it: its times in milliseconds since 1970. */
type StoredToken = [
  hash: string,
  id: string,
  account: string,
  scopes: string,
  label: string | null,
  createdAt: number,
  expiresAt: number | null,
  revokedAt: number | null,
]

/** Creates the tokens of a database. Only the lookup is on the way of a request, which needs no Prisma Client. */
export function createTokens({ loadPrisma, sql, dialect, retry }: Access): Tokens {
  const { readTime } = dialect
  const selectTokens = writeSelect(dialect)
  const selectByHash = `${selectTokens} WHERE "hash" IN (${dialect.texts})`

  /** Returns the tokens for which a condition with one parameter holds, oldest first. */
  async function select(condition: string, value: SqlValue): Promise<TokenRow[]> {
    const statement = `${selectTokens} WHERE ${condition} ORDER BY ${readTime('"createdAt"')}, "id"`
    return (await sql.query<StoredToken>(statement, value)).map(toTokenRow)
  }

  return {
    async create({ hash, scopes, ...token }) {
      const createdAt = new Date()
      const data = { ...token, hash, scopes: scopes.join(' '), createdAt }
      const { token: table } = await loadPrisma()
      // A retry after a lost response finds what the first attempt has stored.
      await retry(async () => (await table.findUnique({ where: { hash } })) ?? table.create({ data }))
      return { ...token, scopes, createdAt, revokedAt: null }
    },

    list: (account) => select('"account" = coalesce($1, "account")', account ?? null),

    async revoke(id) {
      const { token: table } = await loadPrisma()
      await retry(async () => table.updateMany({ where: { id, revokedAt: null }, data: { revokedAt: new Date() } }))
      return (await select('"id" = $1', id))[0]
    },

    // Compares times as numbers: SQLite compares a time that was written by hand as a number as less than any text.
    listEnded: (before) =>
      select(`${readTime('"expiresAt"')} < $1 OR ${readTime('"revokedAt"')} < $1`, before.getTime()),

    async delete(ids) {
      const { token: table } = await loadPrisma()
      await retry(async () => table.deleteMany({ where: { id: { in: [...ids] } } }))
    },

    // Once it is stale in the cache, all requests with a busy token look it up.
    find: oncePerTurn(async (hashes) => {
      const rows = await sql.query<StoredToken>(selectByHash, JSON.stringify(hashes))
      const found = new Map(rows.map((row) => [row[0], toTokenRow(row)]))
      return hashes.map((hash) => found.get(hash))
    }),
  }
}

function writeSelect({ readTime }: Dialect): string {
  // A value that is not a time reads as 1970: a token that has expired rather than one that never does.
  const times = ['"createdAt"', '"expiresAt"', '"revokedAt"'].map(
    (column) => `CASE WHEN ${column} IS NOT NULL THEN coalesce(${readTime(column)}, 0) END`,
  )
  return `SELECT "hash", "id", "account", "scopes", "label", ${times.join(', ')} FROM "Token"`
}

function toTokenRow([, id, account, scopes, label, createdAt, expiresAt, revokedAt]: StoredToken): TokenRow {
  return {
    id,
    account,
    scopes: scopes.split(' '),
    label,
    createdAt: new Date(createdAt),
    expiresAt: toDate(expiresAt),
    revokedAt: toDate(revokedAt),
  }
}

function toDate(time: number | null): Date | null {
  return time === null ? null : new Date(time)
}
