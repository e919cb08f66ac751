import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import { errorReason } from '../database-error.ts'
import type { Migration } from './migrations.ts'

/**
 * Applies the pending migrations on this connection, within its transaction.
 *
 * @returns the names of the migrations that were applied
 * @throws {Error} that names the migration that failed, and why
 */
export async function applyMigrations(
  connection: SqlDriverAdapter,
  migrations: readonly Migration[],
): Promise<string[]> {
  const failures: Error[] = []
  const executeScript = async (script: string) => {
    try {
      await connection.executeScript(script)
    } catch (error) {
      const name = migrations.find((migration) => migration.script === script)?.name
      failures.push(new Error(`the migration ${name} failed with: ${errorReason(error)}`, { cause: error }))
      throw error
    }
  }

  const { provider, adapterName } = connection
  // The engine opens and closes connections as it likes: this one stays open.
  const lent: SqlDriverAdapter = { ...connection, executeScript, dispose: () => Promise.resolve() }
  // A startup with nothing pending does not load the engine.
  const { createSchemaEngine } = await import('./schema-engine.ts')
  const engine = await createSchemaEngine({
    provider,
    adapterName,
    connect: () => Promise.resolve(lent),
    connectToShadowDb: () => Promise.reject(new Error('Applying migrations needs no shadow database')),
  })
  try {
    const { appliedMigrationNames } = await engine.applyMigrations({
      migrationsList: {
        baseDir: 'migrations',
        lockfile: {
          path: 'migration_lock.toml',
          content: `provider = "${provider === 'sqlite' ? 'sqlite' : 'postgresql'}"`,
        },
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
    // The engine's own error often does not name the migration.
    throw failures[0] ?? error
  } finally {
    engine.free()
  }
}
