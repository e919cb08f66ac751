import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import { DatabaseError } from '../../database-error.ts'
import { select } from '../../shared/sql.ts'

const TRIGGERS = ['Plant_deleted', 'Plant_inserted_before', 'Plant_replaced', 'Plant_updated']

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
