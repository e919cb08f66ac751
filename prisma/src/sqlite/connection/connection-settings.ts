import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import { DatabaseError } from '../../database-error.ts'
import { select } from '../../shared/sql.ts'

/**
 * The write-ahead log goes back into the file at 4,000 pages, 16 MB: SQLite's default of 1,000 costs a third of the plants a
 * second. It then starts again and is shrunk to 64 MB, below what PlantStoreLogGrowing (docs/production/monitoring) allows:
 * by default it keeps the largest size that it ever had.
 */
const LOG_LIMITS = 'PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 64000000'

/**
 * FULL: what is committed survives a power failure. The driver's default is NORMAL, which does not promise that, and
 * the file does not store it.
 */
export const CONNECTION_SETTINGS = `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; ${LOG_LIMITS}`

/**
 * Checks that {@link CONNECTION_SETTINGS} are in effect: SQLite ignores what it cannot do, such as WAL on some network
 * file systems.
 *
 * @throws {DatabaseError} if they are not
 */
export async function checkSettings(connection: SqlDriverAdapter, file: string): Promise<void> {
  const [settings] = await select(connection, 'SELECT * FROM pragma_journal_mode, pragma_synchronous')
  if (settings?.['journal_mode'] === 'wal' && settings['synchronous'] === 2) return
  throw new DatabaseError(`${file} does not support journal_mode=WAL and synchronous=FULL: put it on a local disk`)
}

const TRIGGERS = ['Plant_deleted', 'Plant_updated']

/**
 * Checks that the triggers of the migrations are there, without which a cached list could be outdated. Prisma drops them
 * where a migration replaces their table.
 *
 * @throws {DatabaseError} if one is missing
 */
export async function checkTriggers(connection: SqlDriverAdapter, file: string): Promise<void> {
  const rows = await select(connection, `SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'Plant'`)
  const missing = TRIGGERS.find((trigger) => !rows.some(({ name }) => name === trigger))
  if (missing) throw new DatabaseError(`${file} lacks the trigger "${missing}" of its migrations: restore a backup`)
}
