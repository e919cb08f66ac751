import { randomBytes } from 'node:crypto'
import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import type { TokenRow, Tokens } from './database.ts'
import type { Dialect } from './engine.ts'
import { oncePerTurn } from './once-per-turn.ts'
import { type Prisma, select } from './prisma-client.ts'

const SECRET_BYTES = 32
/** Prisma's code of a unique key that is taken. */
const TAKEN = 'P2002'

type StoredToken = Awaited<ReturnType<Prisma['token']['findMany']>>[number]
/** A token as `selectTokens` reads it: its times in milliseconds since 1970. */
type FoundToken = Omit<StoredToken, Times> & Record<Times, number | null>
type Times = 'createdAt' | 'expiresAt' | 'revokedAt'

/** Creates the tokens of a database. The lookup, which is on the way of every request, calls the adapter. */
export function createTokens({ token: table }: Prisma, adapter: SqlQueryable, { selectTokens }: Dialect): Tokens {
  return {
    create: async ({ scopes, ...token }) =>
      toTokenRow(await table.create({ data: { ...token, scopes: scopes.join(' '), createdAt: new Date() } })),

    async list(account) {
      const where = account === undefined ? {} : { account }
      return (await table.findMany({ where, orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] })).map(toTokenRow)
    },

    async revoke(id) {
      await table.updateMany({ where: { id, revokedAt: null }, data: { revokedAt: new Date() } })
      const token = await table.findUnique({ where: { id } })
      return token ? toTokenRow(token) : undefined
    },

    isEmpty: async () => (await table.findFirst({ select: { id: true } })) === null,

    // Once it is stale in the cache, all requests with a busy token look it up.
    find: oncePerTurn(async (hashes) => {
      const rows = await select<FoundToken>(adapter, selectTokens, JSON.stringify(hashes))
      const found = new Map(rows.map((row) => [row.hash, toFoundRow(row)]))
      return hashes.map((hash) => found.get(hash))
    }),
  }
}

/** Reads a secret, creating it at its first use. Servers that create it at the same time all get the one stored first. */
export async function readSecret({ secret: table }: Prisma, name: string): Promise<Buffer> {
  const find = () => table.findUnique({ where: { name } })
  const value = randomBytes(SECRET_BYTES).toString('hex')
  const create = () => table.create({ data: { name, value } })
  const stored =
    (await find()) ??
    (await create().catch(async (error) => (error.code === TAKEN ? await find() : Promise.reject(error))))
  if (stored) return Buffer.from(stored.value, 'hex')
  throw new Error(`The secret "${name}" was stored and is not there: check what else writes to the database`)
}

function toTokenRow({ id, account, scopes, label, createdAt, expiresAt, revokedAt }: StoredToken): TokenRow {
  return { id, account, scopes: scopes.split(' '), label, createdAt, expiresAt, revokedAt }
}

function toFoundRow({ createdAt, expiresAt, revokedAt, ...token }: FoundToken): TokenRow {
  const times = { createdAt: new Date(createdAt ?? 0), expiresAt: toDate(expiresAt), revokedAt: toDate(revokedAt) }
  return toTokenRow({ ...token, ...times })
}

function toDate(time: number | null): Date | null {
  return time === null ? null : new Date(time)
}
