export { runsFromRepository } from './base-folder.ts'
export { type CopyAddress, type CopyProgress, copyDatabase } from './copy-database.ts'
export * from './database.ts'
export { DatabaseError } from './database-error.ts'
export {
  backupDatabase,
  checkMigrated,
  databaseUrl,
  explainDatabaseError,
  explainIgnored,
  migrateDatabase,
  nameDatabase,
  openDatabase,
} from './engines.ts'
export { loadSettingsFile, SettingsFileError } from './settings-file.ts'
export { oncePerTurn } from './shared/once-per-turn.ts'
export { maxPageBytes } from './shared/plants.ts'
export { DEFAULT_DATABASE_URL } from './sqlite/connection/database-file.ts'
