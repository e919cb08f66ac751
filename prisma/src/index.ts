export { DEFAULT_DATABASE_URL, loadSettingsFile, runsFromRepository } from './base-folder.ts'
export { type CopyAddress, type CopyProgress, copyDatabase } from './copy-database.ts'
export {
  type BackupOptions,
  type BackupProgress,
  type ConnectionCounts,
  type Database,
  type DatabaseState,
  type KnownList,
  type ListRange,
  type ListState,
  type MigrateOptions,
  type OpenOptions,
  type PlantList,
  type PlantRow,
  type Plants,
  type StorageFault,
  storageFaults,
  type TokenRow,
  type Tokens,
} from './database.ts'
export { DatabaseError } from './database-error.ts'
export { databaseUrl, explainIgnored, nameDatabase } from './database-url.ts'
export {
  backupDatabase,
  checkMigrated,
  explainDatabaseError,
  migrateDatabase,
  openDatabase,
} from './engine.ts'
export { oncePerTurn } from './shared/once-per-turn.ts'
export { maxPageBytes } from './shared/plants.ts'
