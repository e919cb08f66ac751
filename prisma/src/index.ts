export { DEFAULT_DATABASE_URL, databaseUrl, nameDatabase } from './address.ts'
export { copyDatabase } from './copy.ts'
export type { Database } from './database.ts'
export { backupDatabase, openDatabase } from './database.ts'
export { type OnProgress, StorageError, storageFaults } from './engine.ts'
export { isQuoted, loadSettingsFile, readVariable, runsFromRepository } from './environment.ts'
export { checkMigrated, migrateDatabase } from './migrations.ts'
export {
  type ListPiece,
  type ListRange,
  type ListState,
  MAX_PIECE_BYTES,
  type PlantRow,
  type Plants,
} from './plants.ts'
export type { TokenRow, Tokens } from './tokens.ts'
