import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import {
  bindMigrationAwareSqlAdapterFactory,
  type SqlMigrationAwareDriverAdapterFactory,
} from '@prisma/driver-adapter-utils'
import * as glue from '@prisma/schema-engine-wasm/schema_engine_bg'

export type { DevDiagnosticInput, DiffTarget, SchemaEngine } from '@prisma/schema-engine-wasm/schema_engine_bg'

/** A Prisma schema file: its path and its text. */
export type Datamodel = [path: string, text: string]

// TypeScript declares it in the browser's library only.
declare const WebAssembly: {
  instantiate(binary: Uint8Array, imports: object): Promise<{ instance: { exports: Record<string, unknown> } }>
}

const require = createRequire(import.meta.url)
let ready: Promise<void> | undefined

/**
 * Creates Prisma's schema engine, the one behind `prisma migrate`, in its WebAssembly build: nothing is downloaded. It
 * reaches the database through the driver adapter only. Its memory goes with the process.
 */
export async function createSchemaEngine(
  database: SqlMigrationAwareDriverAdapterFactory,
  datamodels: Datamodel[] = [],
): Promise<glue.SchemaEngine> {
  ready ??= instantiate()
  await ready
  const ignoreLog = () => {}
  // The engine rejects an empty list.
  const options = { datamodels: datamodels.length > 0 ? datamodels : undefined }
  return glue.SchemaEngine.new(options, ignoreLog, bindMigrationAwareSqlAdapterFactory(database))
}

async function instantiate(): Promise<void> {
  // The package's own entry imports the .wasm file as a module, which Node.js does not do.
  const folder = path.dirname(require.resolve('@prisma/schema-engine-wasm'))
  const binary = await readFile(path.join(folder, 'schema_engine_bg.wasm'))
  const { instance } = await WebAssembly.instantiate(binary, { './schema_engine_bg.js': { ...glue, ...timers() } })
  glue.__wbg_set_wasm(instance.exports)
  reportPanics()
  const start = instance.exports['__wbindgen_start']
  if (typeof start !== 'function') throw new Error('@prisma/schema-engine-wasm has no __wbindgen_start')
  start()
}

/** Keeps the engine's time limit on its lock, 10 s, from keeping the process running once a migration has ended. */
function timers(): object {
  const names = Object.keys(glue).filter((name) => name.startsWith('__wbg_setTimeout'))
  const start = (run: () => void, time: number) => setTimeout(run, time).unref()
  return Object.fromEntries(names.map((name) => [name, start]))
}

/** Turns panics, which the engine reports through this global, into errors. */
function reportPanics(): void {
  Object.assign(globalThis, {
    PRISMA_WASM_PANIC_REGISTRY: {
      set_message(message: string) {
        throw new Error(`Prisma's schema engine failed: ${message}`)
      },
    },
  })
}
