import { execFileSync, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { databaseUrl, migrateDatabase, openDatabase } from '@plant-store/prisma'
import { type PostgresqlServer, startPostgresql } from '../../test/helpers/database/postgresql.ts'
import { createNewToken } from '../src/accounts/tokens.ts'
import { canPin, PIN } from './contender.ts'
import { childrenOf, cpuTimeWithChildren } from './cpu-time.ts'

/** The first account, whose plants are created and listed. */
const ACCOUNT = 'bench'
const nameAccount = (index: number) => (index === 0 ? ACCOUNT : `${ACCOUNT} ${index}`)
/** How many accounts have a token. */
const MAX_TOKENS = 1_000
const BATCH = 1_000

export type Engine = 'sqlite' | 'postgresql'

/** A database for one contender. */
export interface BenchDatabase {
  /** The file of SQLite. */
  file: string
  url: string
  token: string
  /** Tokens of up to a thousand accounts with plants, far from each other. */
  tokens: readonly string[]
  /** A token of an account without plants. */
  otherToken: string
  remove(): Promise<void>
}

/** Makes a database with tokens and plants whose names are those of the floor, of one account or of many in turn. */
export async function createDatabase(
  plants: number,
  progress: (line: string) => void = () => {},
  engine: Engine = 'sqlite',
  accounts = 1,
): Promise<BenchDatabase> {
  const { url, remove } = engine === 'sqlite' ? await newFile() : await newPostgresqlDatabase()
  await migrateDatabase(url)
  const database = await openDatabase(url)
  for (let first = 0; first < plants; first += BATCH) {
    if (first % 100_000 === 0) progress(`storing plants: ${first} of ${plants}`)
    const rows = Array.from({ length: Math.min(BATCH, plants - first) }, (_, index) => ({
      account: nameAccount((first + index) % accounts),
      id: String(first + index),
      name: `Plant number ${first + index}`,
      tag: 'bench',
    }))
    await database.plants.create(rows)
  }
  const createToken = async (account: string) => (await createNewToken(database.tokens, { account })).token
  const used: [string, ...string[]] = [await createToken(nameAccount(0))]
  const distance = Math.max(1, Math.floor(accounts / MAX_TOKENS))
  for (let index = distance; index < accounts && used.length < MAX_TOKENS; index += distance) {
    used.push(await createToken(nameAccount(index)))
  }
  const otherToken = await createToken('other')
  await database.close()
  return {
    file: engine === 'sqlite' ? new URL(url).pathname : '',
    url,
    token: used[0],
    tokens: used,
    otherToken,
    remove,
  }
}

async function newFile(): Promise<{ url: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'plant-store-bench-'))
  const url = databaseUrl(`file:${path.join(folder, 'plant-store.db')}`)
  return { url, remove: () => rm(folder, { recursive: true }) }
}

/** One server for the whole run, on disk and as durable as in production. */
let postgresql: Promise<PostgresqlServer> | undefined

async function newPostgresqlDatabase(): Promise<{ url: string; remove(): Promise<void> }> {
  postgresql ??= startPinned()
  const { create } = await postgresql
  return { url: await create(randomUUID()), remove: async () => {} }
}

/** Starts PostgreSQL on the core of the load, so that the server has its own to itself. */
async function startPinned(): Promise<PostgresqlServer> {
  const server = await startPostgresql({ parent: tmpdir(), settings: { max_wal_size: '4GB' } })
  const main = mainProcess(server)
  if (!canPin) return server
  execFileSync(PIN, ['-pc', '1', String(main)])
  // What it starts later inherits that, and what has ended meanwhile needs no core.
  for (const pid of childrenOf(main)) spawnSync(PIN, ['-pc', '1', String(pid)])
  return server
}

/** Returns the process of PostgreSQL that starts all others. */
function mainProcess({ folder }: PostgresqlServer): number {
  return Number.parseInt(readFileSync(path.join(folder, 'postmaster.pid'), 'utf8'), 10)
}

/** Returns a function that reads the CPU time of PostgreSQL, in seconds. */
export async function postgresqlTime(): Promise<() => number> {
  if (!postgresql) throw new Error('PostgreSQL has not been started')
  const pid = mainProcess(await postgresql)
  return () => cpuTimeWithChildren(pid)
}

/** Stops the PostgreSQL that the run has started. */
export async function stopPostgresql(): Promise<void> {
  await (await postgresql)?.remove()
}
