import { onTestFinished } from 'vitest'
import { writeNewDatabase } from '../../../test/helpers/database/new-database.ts'
import { temporaryDatabase } from '../../../test/helpers/temporary-folder.ts'
import type { PrismaClient } from '../../src/generated/sqlite/client.ts'
import { existingFile } from '../../src/sqlite/connection/errors.ts'
import { type OpenFile, openFile } from '../../src/sqlite/open-database.ts'

/** Connects Prisma Client to a database, as the server does. */
export async function openClient(url: string): Promise<OpenFile & { prisma: PrismaClient }> {
  // A busy machine must not decide a test.
  const client = await openFile(existingFile(url), { patience: 60_000 })
  const prisma = (await client.loadPrisma()) as PrismaClient
  onTestFinished(() => prisma.$disconnect())
  return { ...client, prisma }
}

/** Creates a SQLite file without plants. */
export async function newMigrated(): Promise<{ file: string; url: string }> {
  const database = temporaryDatabase()
  await writeNewDatabase(database.file)
  return database
}

/** Creates a database and connects Prisma Client to it. */
export async function openNewClient(): Promise<OpenFile & { prisma: PrismaClient; file: string; url: string }> {
  const database = await newMigrated()
  return { ...database, ...(await openClient(database.url)) }
}
