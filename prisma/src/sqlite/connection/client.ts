import type { SqlDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import { connect } from './connect.ts'
import { CONNECTION_SETTINGS, checkSettings } from './connection-settings.ts'
import { gateTransactions } from './transaction-gate.ts'
import { OPEN_WAIT_MILLISECONDS, whenFree } from './when-free.ts'
import type { WriteWatch } from './write-watch.ts'

/**
 * How long a statement waits for another process's lock. Short, because SQLite waits by stopping the whole event loop;
 * whoever can wait longer repeats the statement when Prisma answers with P1008.
 */
export const BUSY_TIMEOUT_MILLISECONDS = 50

/**
 * Prisma's adapter for a SQLite file that exists, with the settings that the plant store's promises need. `watch` sees
 * its writes; the signal ends the wait for a file that another process has locked.
 */
export function createSqliteAdapter(file: string, watch: WriteWatch, signal?: AbortSignal): SqlDriverAdapterFactory {
  return {
    provider: 'sqlite',
    adapterName: '@prisma/adapter-better-sqlite3',
    async connect() {
      const connection = await connect({ url: file, fileMustExist: true, timeout: BUSY_TIMEOUT_MILLISECONDS })
      try {
        // Another process may migrate, open or recover the file.
        await whenFree(() => connection.executeScript(CONNECTION_SETTINGS), OPEN_WAIT_MILLISECONDS, signal)
        await whenFree(() => checkSettings(connection, file), OPEN_WAIT_MILLISECONDS, signal)
      } catch (error) {
        await connection.dispose()
        throw error
      }
      return gateTransactions(watch.attach(connection))
    },
  }
}
