import { copyFile } from './copy-file.ts'
import { migrateFile } from './migrate-file.ts'

/** What may block the event loop for minutes. */
export const tasks = { copyFile, migrateFile }

export type Tasks = typeof tasks
