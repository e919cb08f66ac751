export { canConnect, createDatabase } from './database-file.ts'
export { openEngineDatabase } from './engine-database.ts'
export { prepareStudio } from './studio.ts'
