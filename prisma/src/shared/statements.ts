import type { ListState } from '../database.ts'
import type { Dialect } from './sql.ts'

/** The states of so many lists are read by one statement: more would cost enough for PostgreSQL to compile it. */
export const MAX_STATES = 32
/**
 * The news of a state are at most so many plants, and so many bytes of JSON; each plant has its part of these. Nothing is
 * reserved for them: a thousand lists of one turn of the event loop bring 8 MB, and no longer text is turned into JSON.
 */
export const MAX_NEWS_PLANTS = 64
export const MAX_NEWS_BYTES = 2 ** 13

/** The SQL of an engine for plants. Parameters are `$1`, `$2` and so on; every statement may run twice. */
export interface PlantStatements {
  /** Inserts a plant, unless its account has the id: account, id, name, tag. */
  readonly insertOne: string
  /** Inserts plants in order, each unless its account has the id: a JSON array of [account, id, name, tag]. */
  readonly insertMany: string
  /**
   * Selects for each plant, in order, whether the stored one has its name and tag, NULL if its account lacks its id: as
   * `insertMany`. Of a text with another length, no more than the length is read.
   */
  readonly compareStored: string
  /**
   * Selects the first plants in a part of a list: account, the `seq` before it, its last one, how many plants, the maximum
   * of bytes of each, as text and on average as JSON. One row: the plants as JSON objects separated by commas, NULL if one is
   * too long; the `seq` of the last, 0 if there is none; whether more follow in this part.
   */
  readonly selectPiece: string
  /** Selects lists, a row for each as {@link ListState}: a JSON array of [account, last, lastCreatedAt]. */
  readonly selectStates: string
}

/** Writes the statements that both engines have alike. An engine that needs another one assigns it after these. */
export function writeStatements({
  durably,
  elements,
  now,
}: Dialect): Pick<PlantStatements, 'insertOne' | 'insertMany'> {
  const insert = 'INSERT INTO "Plant" ("account", "id", "name", "tag", "createdAt")'
  const unlessStored = 'ON CONFLICT ("account", "id") DO NOTHING'
  return {
    insertOne: `${insert} SELECT $1, $2, $3, $4, ${now} WHERE ${durably} ${unlessStored}`,
    // 500 rows as 2,000 parameters take five times as long.
    insertMany: `${insert}
      SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, ${now} FROM ${elements}
      WHERE ${durably} ORDER BY key ${unlessStored}`,
  }
}
