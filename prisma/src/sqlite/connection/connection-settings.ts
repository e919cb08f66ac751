import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import { DatabaseError } from '../../database-error.ts'
import { select } from '../../select.ts'

/** Older versions can corrupt a database in WAL mode: https://sqlite.org/wal.html#walresetbug */
const OLDEST_SQLITE = '3.51.3'

/**
 * FULL: what is committed survives a power failure. The driver is compiled with NORMAL, which does not promise that,
 * and neither setting is kept in the file: they are made on every connection.
 */
export const CONNECTION_SETTINGS = 'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON'

/**
 * Checks that a connection has taken {@link CONNECTION_SETTINGS}: SQLite ignores a setting that it cannot make, for
 * example WAL on some network file systems.
 *
 * @throws DatabaseError where it has not, or SQLite is too old
 */
export async function checkSettings(connection: SqlDriverAdapter, file: string): Promise<void> {
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
