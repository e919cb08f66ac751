export { backupDatabase } from './backup-database.ts'
export { explainDatabaseError } from './connection/errors.ts'
export { checkMigrated, migrateDatabase } from './migrate-database.ts'
export { openDatabase } from './open-database.ts'
