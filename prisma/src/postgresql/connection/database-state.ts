import type { DatabaseState } from '../../database.ts'
import type { Sql } from '../../shared/sql.ts'

/**
 * The setting of the database in which docs/production/several-machines records a backup: PostgreSQL's own tools make it.
 * Unlike a table, it needs no migration, and a restored database has none.
 */
const LAST_BACKUP = 'plant_store.last_backup='
const SELECT_STATE = `
  SELECT pg_database_size(current_database())::float8,
    coalesce((
      SELECT extract(epoch FROM substr(setting, length('${LAST_BACKUP}') + 1)::timestamptz)::float8
      FROM pg_db_role_setting, unnest(setconfig) AS setting
      WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database()) AND setrole = 0
        AND setting ~ '^${LAST_BACKUP}\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$'
    ), 0),
    (SELECT failed_count::float8 FROM pg_stat_archiver)`

/** Reads what an operator watches of a PostgreSQL database. */
export async function readState(sql: Sql): Promise<DatabaseState> {
  const [row] = await sql.query<[size: number, lastBackup: number, archiveFailures: number]>(SELECT_STATE)
  const [size, lastBackup, archiveFailures] = row ?? []
  return { size, logSize: undefined, freeSpace: undefined, lastBackup, archiveFailures }
}
