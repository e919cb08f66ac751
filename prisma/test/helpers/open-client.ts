import { expect, onTestFinished } from 'vitest'
import { writeNewDatabase } from '../../../test/helpers/database/databases.ts'
import { temporaryDatabase } from '../../../test/helpers/temporary.ts'
import { loadEngine } from '../../src/address.ts'
import type { OpenedDatabase } from '../../src/engine.ts'
import type { PrismaClient } from '../../src/generated/sqlite/client.ts'

/** A database as its engine opens it, and Prisma Client on it, for operations that only a test has. */
export type TestClient = OpenedDatabase & { prisma: PrismaClient }

/** Connects Prisma Client to a database, as the server does, with a patience that a busy machine does not use up. */
export async function openClient(url: string, patience = 60_000): Promise<TestClient> {
  const { open } = await loadEngine(url)
  const opened = await open(patience)
  onTestFinished(opened.close)
  return { ...opened, prisma: opened.prisma as PrismaClient }
}

/** Returns the message of the StorageError that an action fails with; `done`: it does not fail. */
export function outcomeOf(action: Promise<unknown>): Promise<string> {
  const messageOf = (error: Error) => {
    expect(error).toMatchObject({ name: 'StorageError' })
    return error.message
  }
  return action.then(() => 'done', messageOf)
}

/** Creates a SQLite file without plants. */
export async function newMigrated(): Promise<{ file: string; url: string }> {
  const database = temporaryDatabase()
  await writeNewDatabase(database.file)
  return database
}

/** Creates a SQLite database and connects Prisma Client to it. */
export async function openNewClient(): Promise<TestClient & { file: string; url: string }> {
  const database = await newMigrated()
  return { ...database, ...(await openClient(database.url)) }
}
