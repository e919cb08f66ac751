import { randomUUID } from 'node:crypto'
import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import { sqlState, toDatabaseError } from '../../src/postgresql/connection/errors.ts'
import { describeDatabase, type ServerAddress } from '../../src/postgresql/connection/server-address.ts'
import { PrismaError } from '../prisma-error.ts'
import { openEngineConnection } from './engine-connection.ts'
import { execute } from './server.ts'

/** SQLSTATE insufficient_privilege. */
const NOT_ALLOWED = '42501'

/**
 * Creates an empty database, in which the engine applies the migrations to see what they lead to, and connects to it.
 * Disposing of the connection drops the database.
 *
 * @param address a database on the same server, from which it can be created
 */
export async function createShadowDatabase(address: ServerAddress): Promise<SqlDriverAdapter> {
  // As Prisma's own engine names it.
  const name = `prisma_migrate_shadow_db_${randomUUID()}`
  try {
    await execute(address, `CREATE DATABASE "${name}" TEMPLATE template0 ENCODING 'UTF8'`)
  } catch (error) {
    throw new PrismaError('P3014', explain(error, address), { cause: error })
  }
  const { begin, close } = await openEngineConnection({ ...address, database: name })
  const drop = () => execute(address, `DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`)
  try {
    const { adapter } = await begin()
    // Closing would wait for the transaction, dropping ends it.
    return { ...adapter, dispose: () => drop().finally(() => void close()) }
  } catch (error) {
    await drop()
    throw error
  }
}

function explain(error: unknown, address: ServerAddress): string {
  const database = describeDatabase(address)
  if (sqlState(error) !== NOT_ALLOWED) return toDatabaseError(error, database).message
  return `${database}: this user may not create databases, and this command needs a temporary one: run ALTER ROLE ${address.user} CREATEDB`
}
