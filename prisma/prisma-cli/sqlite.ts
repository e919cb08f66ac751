import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import path from 'node:path'
import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import { databaseFile } from '../src/address.ts'
import { StorageError } from '../src/engine.ts'
import { rejectPrismaTransaction } from '../src/prisma-client.ts'
import { connect } from '../src/sqlite/connection.ts'
import { createClientAdapter } from '../src/sqlite/prisma-adapter.ts'
import { noMigrationsYet, prismaError, type SchemaEngineDatabase } from './schema-engine-database.ts'

/** How long another process may keep the file locked, in milliseconds. */
const BUSY_TIMEOUT = 5_000

/** Creates an empty file, which is an empty SQLite database. As in the server, only the owner may read it. */
export async function createDatabase(url: string): Promise<void> {
  const file = databaseFile(url)
  mkdirSync(path.dirname(file), { recursive: true })
  closeSync(openSync(file, 'wx', 0o600))
}

/** Opens a file for the methods of the engine. @throws {Error} if it does not exist */
export async function openForSchemaEngine(url: string): Promise<SchemaEngineDatabase> {
  const file = databaseFile(url)
  if (!existsSync(file)) throw prismaError('P1003', `Database \`${path.basename(file)}\` does not exist at ${file}`)
  // The engine needs the file for itself, and hides in a stack of its own that another process has it open.
  const connection = open(file, (cause) => {
    const what = `${file} is in use: stop the server, Prisma Studio and other programs that use it, and retry`
    database.reason = prismaError('P1008', what, cause)
  })
  const database: SchemaEngineDatabase = {
    provider: 'sqlite',
    adapterName: '@plant-store/prisma',
    connect: async () => connection,
    connectToShadowDb: async () => open(':memory:'),
    reason: undefined,
    // The end of the process closes the file.
    close: async () => {},
  }
  return database
}

/**
 * Opens a file, or a database in memory.
 *
 * @param onLocked called where another process has the file locked, or open where the engine wants it for itself
 */
export function open(file: string, onLocked = (_cause: unknown) => {}): SqlDriverAdapter {
  const connection = connect(file, { timeout: BUSY_TIMEOUT })
  const watched = <Result>(operation: () => Result): Result => {
    try {
      return operation()
    } catch (error) {
      if (!(error instanceof StorageError)) throw error
      if (error.fault === 'locked') onLocked(error)
      // A table that is missing, or a mistake in a migration, is SQLite's own error for the engine.
      throw error.fault === 'unavailable' ? error.cause : error
    }
  }
  const executeScript = async (script: string) => watched(() => connection.executeScript(script))
  const adapter = createClientAdapter(async ({ sql }, values) => watched(() => connection.run(sql, values)))
  return {
    ...adapter,
    adapterName: '@plant-store/prisma',
    // The engine fails if the table of applied migrations is missing.
    queryRaw: (query) => adapter.queryRaw(query).catch(noMigrationsYet),
    // The engine runs whole migrations on the shadow database this way, but the adapter only supports one statement.
    async executeRaw(query) {
      if (query.args.length > 0) return adapter.executeRaw(query)
      await executeScript(query.sql)
      return 0
    },
    executeScript,
    startTransaction: rejectPrismaTransaction,
    dispose: async () => connection.close(),
  }
}
