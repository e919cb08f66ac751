export { openEngineDatabase } from './engine-database.ts'
export { canConnect, createDatabase } from './server.ts'
export { prepareStudio } from './studio.ts'
