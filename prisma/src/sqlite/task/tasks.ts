import { copyFile } from './copy-file.ts'
import { migrateFile } from './migrate-file.ts'

/** What SQLite does in statements that may take minutes: in a process of its own, or in this one. */
export const tasks = { copyFile, migrateFile }

export type Tasks = typeof tasks
