import type {
  SqlDriverAdapter,
  SqlDriverAdapterFactory,
  SqlQuery,
  SqlQueryable,
  SqlResultSet,
} from '@prisma/driver-adapter-utils'
import type { PrismaClient } from '../generated/sqlite/client.ts'

/**
 * Prisma Client of either engine; only `seq` is a bigint on PostgreSQL. Each of its operations keeps what the plant store
 * promises by itself: it is durable once it has succeeded, sees what was acknowledged, and is retried where it cannot have
 * happened. A write has to be one statement, since transactions of several are rejected.
 */
export type Prisma = Pick<PrismaClient, 'plant' | 'token' | 'secret' | 'edits'>

/** What runs a statement that may write. */
export type StatementRunner = Pick<SqlQueryable, 'queryRaw' | 'executeRaw'>

/** How an engine runs the statements of Prisma Client. */
export interface PrismaStatements {
  read(query: SqlQuery): Promise<SqlResultSet>
  /** Runs one statement that may write, as a transaction of its own. */
  write<Result>(run: (connection: StatementRunner) => Promise<Result>): Promise<Result>
}

/** Prisma Client gives an adapter no more than the text of a query: only a SELECT is certain not to write. */
const READ = /^\s*SELECT\b/i

/** Rejects what would let statements of others into a transaction: https://github.com/prisma/orm/issues/29933. */
export function rejectTransaction(): Promise<never> {
  return Promise.reject(new Error('Transactions are not supported: write what belongs together as one statement.'))
}

/** The Prisma Client that is generated for an engine. */
type GeneratedClient = new (options: { adapter: SqlDriverAdapterFactory; errorFormat: 'minimal' }) => object

/**
 * Creates the Prisma Client of an engine.
 *
 * @param schemaName where Prisma Client looks for the tables, on PostgreSQL
 */
export function createPrisma(
  Client: GeneratedClient,
  { provider, adapterName }: Pick<SqlDriverAdapter, 'provider' | 'adapterName'>,
  { read, write }: PrismaStatements,
  schemaName?: string,
): Prisma {
  const connection: SqlDriverAdapter = {
    provider,
    adapterName,
    queryRaw: (query) => (READ.test(query.sql) ? read(query) : write(({ queryRaw }) => queryRaw(query))),
    executeRaw: (query) => write(({ executeRaw }) => executeRaw(query)),
    executeScript: rejectTransaction,
    startTransaction: rejectTransaction,
    getConnectionInfo: () => ({ supportsRelationJoins: false, ...(schemaName !== undefined && { schemaName }) }),
    dispose: async () => {},
  }
  const adapter = { provider, adapterName, connect: async () => connection }
  // The default format of errors quotes the source code around the call.
  return readAlone(new Client({ adapter, errorFormat: 'minimal' }) as PrismaClient)
}

/**
 * Makes each `findUnique` a statement of its own. Prisma Client joins all of one turn of the event loop, of any account: their
 * statement brings what no request has reserved, and fails for all of them beyond a number of parameters.
 */
function readAlone(client: PrismaClient): Prisma {
  const alone = <Args extends { where: object }>({ where, ...args }: Args) =>
    ({ ...args, where: flatten(where) }) as object
  const models = (name: string) => Reflect.get(client, name.toLowerCase()) as PrismaClient['plant']
  return client.$extends({
    query: {
      $allModels: {
        findUnique: ({ model, args }) => models(model).findFirst(alone(args)),
        findUniqueOrThrow: ({ model, args }) => models(model).findFirstOrThrow(alone(args)),
      },
    },
  }) as unknown as Prisma
}

/** Turns a key of several columns, such as `account_id: { account, id }`, into these. */
function flatten(where: object): object {
  return Object.fromEntries(
    Object.entries(where).flatMap(([name, value]) => (name.includes('_') ? Object.entries(value) : [[name, value]])),
  )
}

/** Connects Prisma Client at its first use, which takes 0.2 s and 50 MB, and again where that has failed. */
export function connectOnce(connect: () => Promise<Prisma>): () => Promise<Prisma> {
  let prisma: Promise<Prisma> | undefined
  return () => {
    prisma ??= connect().catch((error) => {
      prisma = undefined
      throw error
    })
    return prisma
  }
}
