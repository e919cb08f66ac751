import type { SqlDriverAdapter, SqlDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import { connect } from './connect.ts'
import { DatabaseError } from './database-error.ts'
import { select } from './select.ts'
import { gateTransactions } from './transaction-gate.ts'
import { whenFree } from './when-free.ts'

/**
 * How long a statement waits for another process's lock. Short, because SQLite waits by stopping the whole event loop;
 * whoever can wait longer repeats the statement when Prisma answers with P1008.
 */
export const BUSY_TIMEOUT_MILLISECONDS = 50

/** How long opening waits, without stopping anything, while another process migrates, opens or recovers the file. */
const OPEN_WAIT_MILLISECONDS = 10_000

/** Older versions can corrupt a database in WAL mode: https://sqlite.org/wal.html#walresetbug */
const OLDEST_SQLITE = '3.51.3'

// FULL: what is committed survives a power failure. The driver is compiled with NORMAL, which does not promise that,
// and neither setting is kept in the file: they are made on every connection.
const SETTINGS = 'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON'

/** Prisma's adapter for a SQLite file that exists, with the settings that the plant store's promises need. */
export function createSqliteAdapter(file: string): SqlDriverAdapterFactory {
  return {
    provider: 'sqlite',
    adapterName: '@prisma/adapter-better-sqlite3',
    async connect() {
      const connection = await connect({ url: file, fileMustExist: true, timeout: BUSY_TIMEOUT_MILLISECONDS })
      try {
        await whenFree(() => connection.executeScript(SETTINGS), OPEN_WAIT_MILLISECONDS)
        await checkSettings(connection, file)
      } catch (error) {
        await connection.dispose()
        throw error
      }
      return gateTransactions(connection)
    },
  }
}

/** SQLite ignores a setting that it cannot make, for example WAL on some network file systems. */
async function checkSettings(connection: SqlDriverAdapter, file: string): Promise<void> {
  const [settings] = await select(
    connection,
    `SELECT journal_mode, synchronous, sqlite_version() AS version FROM pragma_journal_mode, pragma_synchronous`,
  )
  const { journal_mode: journalMode, synchronous, version } = settings ?? {}
  if (journalMode !== 'wal' || synchronous !== 2) {
    throw new DatabaseError(
      `${file} does not take the settings journal_mode=WAL and synchronous=FULL: put it on a local disk`,
    )
  }
  if (String(version).localeCompare(OLDEST_SQLITE, 'en', { numeric: true }) < 0) {
    throw new DatabaseError(
      `SQLite ${version} can corrupt ${file}: install better-sqlite3 with SQLite ${OLDEST_SQLITE} or newer`,
    )
  }
}
