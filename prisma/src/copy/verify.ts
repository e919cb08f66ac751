import { createHash } from 'node:crypto'
import { DatabaseError } from '../database-error.ts'
import type { ReportPlants } from './progress.ts'
import { readBatches } from './read-rows.ts'
import { type Side, type TableName, tableNames } from './tables.ts'

/** What is in a database. */
export interface Digest {
  /** How many rows each table has. */
  readonly counts: Readonly<Record<TableName, number>>
  /** SHA-256 of all rows as JSON, 64 lower-case hexadecimal digits. */
  readonly sha256: string
}

/** What is verified. */
interface Verification {
  readonly source: Side
  readonly target: Side
  readonly signal?: AbortSignal | undefined
  readonly report: ReportPlants
}

/**
 * Checks that both databases have the same rows, by their count and SHA-256.
 *
 * @throws {DatabaseError} if not, or a database cannot be used; the signal's reason
 */
export async function verify({ source, target, signal, report }: Verification): Promise<Digest> {
  const behind = reportBehind(report)
  const digests = [digest(source, signal, behind()), digest(target, signal, behind())] as const
  const [original, copied] = await Promise.all(digests)
  if (original.sha256 === copied.sha256) return original
  throw new DatabaseError(
    `${source.name} has ${describeCounts(original)}, ${target.name} has ${describeCounts(copied)}, and they differ: ` +
      'one of them was changed during the copy. Stop every server that uses them, and run the same command again',
  )
}

async function digest(side: Side, signal: AbortSignal | undefined, report: ReportPlants): Promise<Digest> {
  const hash = createHash('sha256')
  const counts = { Secret: 0, Token: 0, Plant: 0 }
  for (const name of tableNames) {
    hash.update(`${name}\n`)
    for await (const rows of readBatches(side, name, signal)) {
      // Independent of where a batch ends.
      hash.update(`${JSON.stringify(rows).slice(1, -1)},`)
      counts[name] += rows.length
      if (name === 'Plant') report(counts.Plant, Number(rows.at(-1)?.[0]))
    }
  }
  return { counts, sha256: hash.digest('hex') }
}

function describeCounts({ counts }: Digest): string {
  return `${counts.Plant} plants and ${counts.Token} tokens`
}

/** Reads two databases at the same time: reports the one that is behind. */
function reportBehind(report: ReportPlants): () => ReportPlants {
  const plants: number[] = []
  return () => {
    const own = plants.push(0) - 1
    return (count, seq) => {
      plants[own] = count
      if (count === Math.min(...plants)) report(count, seq)
    }
  }
}
