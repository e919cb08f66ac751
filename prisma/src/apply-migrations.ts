import type { SqlDriverAdapter, SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import type { Migration } from './migrations.ts'
import { createSchemaEngine } from './schema-engine.ts'

/**
 * Applies what is pending on this one connection, in whatever transaction it is.
 *
 * @returns the names of the migrations that were applied
 * @throws {Error} naming the migration that failed, and why
 */
export async function applyMigrations(
  connection: SqlDriverAdapter,
  migrations: readonly Migration[],
): Promise<string[]> {
  const engine = await createSchemaEngine(lend(connection))
  try {
    const { appliedMigrationNames } = await engine.applyMigrations({
      migrationsList: {
        baseDir: 'migrations',
        lockfile: { path: 'migration_lock.toml', content: 'provider = "sqlite"' },
        shadowDbInitScript: '',
        migrationDirectories: migrations.map(({ name, script }) => ({
          path: name,
          migrationFile: { path: 'migration.sql', content: { tag: 'ok', value: script } },
        })),
      },
      filters: { externalTables: [], externalEnums: [] },
    })
    return appliedMigrationNames
  } catch (error) {
    throw new Error(explain(error), { cause: error })
  } finally {
    engine.free()
  }
}

/** The engine's message is the reason, followed by a trace of its own functions that also tells which migration. */
function explain(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const [reason] = message.split('\n')
  const [, name] = /migration_name="([^"]+)"/.exec(message) ?? []
  return name === undefined ? message : `the migration ${name} failed with: ${reason}`
}

/** The engine opens and closes connections as it likes; it gets this one and cannot close it. */
function lend(connection: SqlDriverAdapter): SqlMigrationAwareDriverAdapterFactory {
  const { provider, adapterName } = connection
  const lent: SqlDriverAdapter = {
    provider,
    adapterName,
    queryRaw: (query) => connection.queryRaw(query),
    executeRaw: (query) => connection.executeRaw(query),
    executeScript: (script) => connection.executeScript(script),
    startTransaction: () => Promise.reject(new Error('A transaction is open already')),
    dispose: () => Promise.resolve(),
  }
  return {
    provider,
    adapterName,
    connect: () => Promise.resolve(lent),
    connectToShadowDb: () => Promise.reject(new Error('Applying migrations needs no shadow database')),
  }
}
