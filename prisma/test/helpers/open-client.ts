import { onTestFinished } from 'vitest'
import { temporaryDatabase } from '../../../test/helpers/temporary-folder.ts'
import { migrateDatabase } from '../../src/index.ts'
import { connectClient, type SqliteClient } from '../../src/sqlite/connection/client.ts'
import { databaseFile } from '../../src/sqlite/connection/database-file.ts'

/** Connects Prisma Client to a database, as the server does. */
export async function openClient(url: string): Promise<SqliteClient> {
  const client = await connectClient(databaseFile(url))
  onTestFinished(() => client.prisma.$disconnect())
  return client
}

/** Creates a database and connects Prisma Client to it. */
export async function openNewClient(): Promise<SqliteClient & { file: string; url: string }> {
  const database = temporaryDatabase()
  await migrateDatabase(database.url)
  return { ...database, ...(await openClient(database.url)) }
}
