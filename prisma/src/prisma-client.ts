/** Prisma Client, on an engine's `read` and `write`. */

import type { SqlDriverAdapter, SqlDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import type { Prisma, ReadStatement, WriteStatement } from './engine.ts'

/** The Prisma Client that is generated for an engine. */
type GeneratedClient = new (options: { adapter: SqlDriverAdapterFactory; errorFormat: 'minimal' }) => object

/** The part of Prisma's driver adapter that an engine has. */
export type ClientAdapter = Pick<SqlDriverAdapter, 'provider' | 'queryRaw' | 'executeRaw' | 'getConnectionInfo'>

/** A statement that only reads begins with it. */
const SELECT = /^\s*SELECT\b/i

/**
 * Says what a statement of Prisma Client is, which gives an adapter no more than its text: the one place that decides
 * by it. A mistake is an error, since what reads cannot write. What writes is never run twice.
 */
export function toStatement(sql: string): ReadStatement | WriteStatement {
  return SELECT.test(sql) ? { kind: 'read', sql } : { kind: 'write', sql, mayRunTwice: false }
}

/** Rejects a transaction of Prisma Client, in which statements of others would run: https://github.com/prisma/orm/issues/29933. */
export function rejectPrismaTransaction(): Promise<never> {
  return Promise.reject(new Error('Transactions are not supported: write what belongs together as one statement.'))
}

/** Creates the Prisma Client of an engine. */
export function createPrisma(Client: GeneratedClient, adapter: ClientAdapter): Prisma {
  const driverAdapter = Object.assign(adapter, {
    adapterName: '@plant-store/prisma',
    executeScript: rejectPrismaTransaction,
    startTransaction: rejectPrismaTransaction,
    dispose: async () => {},
    connect: async (): Promise<SqlDriverAdapter> => driverAdapter,
  })
  // The default format of errors quotes the source code around the call.
  return new Client({ adapter: driverAdapter, errorFormat: 'minimal' }) as Prisma
}
