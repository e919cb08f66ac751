import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { databaseUrl, migrateDatabase, openDatabase } from '@plant-store/prisma'
import { createTokenStore } from '../src/accounts/token-store.ts'

/** The account whose plants are created and listed. */
const ACCOUNT = 'bench'
const BATCH = 1_000

/** A database for one contender. */
export interface BenchDatabase {
  file: string
  url: string
  token: string
  remove(): Promise<void>
}

/** Makes a database with a token and plants whose names are those of the floor. */
export async function createDatabase(
  plants: number,
  progress: (line: string) => void = () => {},
): Promise<BenchDatabase> {
  const folder = await mkdtemp(path.join(tmpdir(), 'plant-store-bench-'))
  const file = path.join(folder, 'plant-store.db')
  const url = databaseUrl(`file:${file}`)
  await migrateDatabase(url)
  const database = await openDatabase(url)
  for (let first = 0; first < plants; first += BATCH) {
    if (first % 100_000 === 0) progress(`storing plants: ${first} of ${plants}`)
    const rows = Array.from({ length: Math.min(BATCH, plants - first) }, (_, index) => ({
      account: ACCOUNT,
      id: String(first + index),
      name: `Plant number ${first + index}`,
      tag: 'bench',
    }))
    await database.plants.insert(rows)
  }
  const { token } = await createTokenStore(database.tokens).create({ account: ACCOUNT })
  await database.close()
  return { file, url, token, remove: () => rm(folder, { recursive: true }) }
}
