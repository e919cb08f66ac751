import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import { isPostgresqlUrl } from '../src/postgresql/connection/server-address.ts'

/** What the Prisma command line needs of SQLite or PostgreSQL. */
export interface Engine {
  /** Connects once. @throws {PrismaError} if the database does not exist or cannot be used */
  canConnect(url: string): Promise<void>
  /** Creates an empty database. @throws {PrismaError} if this user may not create it */
  createDatabase(url: string): Promise<void>
  /** Opens the database for one method of the schema engine, and those that follow it. */
  openEngineDatabase(url: string, method: string): Promise<EngineDatabase>
  /** Returns the URL for Studio. @throws {DatabaseError} if the database does not exist or Studio cannot use it */
  prepareStudio(url: string): Promise<string>
}

/** A database as the schema engine sees it, with what its WebAssembly build does not do itself. */
export interface EngineDatabase extends SqlMigrationAwareDriverAdapterFactory {
  /** Runs one method of the engine, which may have locked others out until it ends. */
  run<Result>(operation: () => Promise<Result>): Promise<Result>
  /** Runs `migrate reset`: drops everything. */
  reset(): Promise<void>
  close(): Promise<void>
}

/** Loads the engine that a DATABASE_URL names. */
export function loadEngine(url: string): Promise<Engine> {
  return isPostgresqlUrl(url) ? import('./postgresql/engine.ts') : import('./sqlite/engine.ts')
}
