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
  let failure: Error | undefined
  // The first statement that failed: the error of the engine, and of the statements after it, often hides the reason.
  const watch = (prefix: string) => (cause: unknown) => {
    failure ??= new Error(prefix + errorReason(cause), { cause })
    throw cause
  }
  const nameOf = (script: string) => migrations.find((migration) => migration.script === script)?.name
  const { provider, adapterName } = connection
  const lent: SqlDriverAdapter = {
    ...connection,
    queryRaw: (query) => connection.queryRaw(query).catch(watch('')),
    executeRaw: (query) => connection.executeRaw(query).catch(watch('')),
    executeScript: (script) =>
      connection.executeScript(script).catch(watch(`the migration ${nameOf(script)} failed with: `)),
    // The engine opens and closes connections as it likes: this one stays open.
    dispose: () => Promise.resolve(),
  }
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
    throw failure ?? error
  } finally {
    engine.free()
  }
}
