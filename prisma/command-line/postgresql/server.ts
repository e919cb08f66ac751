import { sqlState, toDatabaseError } from '../../src/postgresql/connection/errors.ts'
import { createSingleConnection } from '../../src/postgresql/connection/pool.ts'
import {
  describeDatabase,
  readServerAddress,
  type ServerAddress,
} from '../../src/postgresql/connection/server-address.ts'
import { createIfMissing } from '../../src/postgresql/create-database.ts'
import { PrismaError } from '../prisma-error.ts'

/** Prisma's codes for what PostgreSQL or the network reports. */
const CODES: Record<string, string> = {
  '3D000': 'P1003',
  '28P01': 'P1000',
  '28000': 'P1000',
  NETWORK: 'P1001',
  CLOSED_PORT: 'P1001',
  UNKNOWN_HOST: 'P1001',
}

/** Connects to a database once. */
export function canConnect(url: string): Promise<void> {
  const address = readServerAddress(url)
  return explain(address, execute(address, 'SELECT 1'))
}

/** Creates a database unless it exists. */
export function createDatabase(url: string): Promise<void> {
  const address = readServerAddress(url)
  return explain(address, createIfMissing(address))
}

/** Runs a statement on a connection of its own. */
export async function execute(address: ServerAddress, sql: string): Promise<void> {
  const { adapter, close } = await createSingleConnection(address)
  await adapter.executeRaw({ sql, args: [], argTypes: [] }).finally(close)
}

async function explain(address: ServerAddress, operation: Promise<void>): Promise<void> {
  try {
    await operation
  } catch (error) {
    const { message } = toDatabaseError(error, describeDatabase(address))
    throw new PrismaError(CODES[sqlState(error)] ?? 'P1010', message, { cause: error })
  }
}
