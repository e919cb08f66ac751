import type { ClientBase } from 'pg'
import { DatabaseError } from '../../database-error.ts'

const SELECT_SUITABILITY = `SELECT pg_is_in_recovery(), current_setting('synchronous_commit') = 'off'`
/** SQLSTATE read_only_sql_transaction. */
const READ_ONLY = '25006'

/**
 * Rejects a new connection to a server that only follows the primary: it would return old data, and during a failover
 * the same address leads to one server after the other. Rejects one that loses commits, too: a new default of
 * `synchronous_commit` applies only to new connections.
 *
 * @param timeout how long the server may take to respond, in milliseconds
 * @throws {DatabaseError} if it loses commits
 */
export async function rejectUnsuitable(client: ClientBase, database: string, timeout: number): Promise<void> {
  const query = { text: SELECT_SUITABILITY, rowMode: 'array' as const, query_timeout: timeout }
  const { rows } = await client.query<[isStandby: boolean, losesCommits: boolean]>(query)
  const [isStandby, losesCommits] = rows[0] ?? []
  if (isStandby) throw standbyError()
  if (losesCommits) throw new DatabaseError(`${database} ${describeLoss('synchronous_commit')}`)
}

/** Creates the error of a read on a standby, with the code of a write on one. */
export function standbyError(): Error {
  return Object.assign(new Error('The server is a standby'), { code: READ_ONLY, severity: 'FATAL' })
}

/** Explains what a setting that is off breaks, and how to fix it. */
export function describeLoss(setting: string): string {
  return `has ${setting} = off, so that a power failure loses plants that were acknowledged: set it to on`
}
