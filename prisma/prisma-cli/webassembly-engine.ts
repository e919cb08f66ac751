import {
  bindMigrationAwareSqlAdapterFactory,
  type SqlMigrationAwareDriverAdapterFactory,
} from '@prisma/driver-adapter-utils'
import type { SchemaEngine } from '@prisma/schema-engine-wasm'

export type { DevDiagnosticInput, DiffTarget, SchemaContainer, SchemaEngine } from '@prisma/schema-engine-wasm'

/** A Prisma schema file: its path and its text. */
export type Datamodel = [path: string, text: string]

/** Through this global, the engine reports panics: here, they are errors. */
const PRISMA_WASM_PANIC_REGISTRY = {
  set_message(message: string) {
    throw new Error(`Prisma's schema engine failed: ${message}`)
  },
}

/**
 * Creates Prisma's schema engine, the one behind `prisma migrate`, in its WebAssembly build: nothing is downloaded. It
 * reaches the database through the driver adapter only. Its memory goes with the process.
 */
export async function createSchemaEngine(
  database: SqlMigrationAwareDriverAdapterFactory,
  datamodels: Datamodel[] = [],
): Promise<SchemaEngine> {
  Object.assign(globalThis, { PRISMA_WASM_PANIC_REGISTRY })
  // Node.js warns of every module of WebAssembly that is imported.
  process.removeAllListeners('warning')
  const { SchemaEngine } = await import('@prisma/schema-engine-wasm')
  const ignoreLog = () => {}
  // The engine rejects an empty list.
  const options = { datamodels: datamodels.length > 0 ? datamodels : undefined }
  return SchemaEngine.new(options, ignoreLog, bindMigrationAwareSqlAdapterFactory(database))
}
