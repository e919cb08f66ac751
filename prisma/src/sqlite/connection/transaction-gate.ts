import {
  DriverAdapterError,
  type IsolationLevel,
  type SqlDriverAdapter,
  type Transaction,
} from '@prisma/driver-adapter-utils'

/**
 * Keeps statements that belong to no transaction out of other people's transactions.
 *
 * Prisma's adapter for better-sqlite3 has one connection, and SQLite's transactions belong to the connection. While one
 * caller's transaction is open, the adapter lets every other caller's statements run inside it: a plant created
 * meanwhile, and answered with 200, disappears when that transaction is rolled back. And where BEGIN or COMMIT itself
 * fails, the adapter leaves its lock held or the transaction open, for ever
 * (https://github.com/prisma/orm/issues/29933). So this gate opens and closes transactions itself: whoever is not in
 * the open transaction waits until it has ended, whatever way it ends. The price is that a transaction must use its own
 * client, `tx`: a statement of the outer client inside it waits until Prisma's transaction timeout ends the
 * transaction.
 *
 * Transactions begin with BEGIN IMMEDIATE. A plain BEGIN takes the write lock only at the first write, and if another
 * process has written in between, it fails at once, however long the busy timeout is.
 */
export function gateTransactions(connection: SqlDriverAdapter): SqlDriverAdapter {
  const { provider, adapterName } = connection
  let open: Promise<void> | undefined

  async function outsideTransactions<Result>(run: () => Promise<Result>): Promise<Result> {
    // Between the last look and the statement nothing is awaited, so nobody can slip in.
    while (open) await open
    return run()
  }

  async function startTransaction(isolationLevel?: IsolationLevel): Promise<Transaction> {
    if (isolationLevel && isolationLevel !== 'SERIALIZABLE') {
      throw new DriverAdapterError({ kind: 'InvalidIsolationLevel', level: isolationLevel })
    }
    while (open) await open
    let end = () => {}
    open = new Promise((resolve) => {
      end = () => {
        open = undefined
        resolve()
      }
    })
    try {
      await connection.executeScript('BEGIN IMMEDIATE')
    } catch (error) {
      end()
      throw error
    }
    return openTransaction(connection, end)
  }

  return {
    provider,
    adapterName,
    queryRaw: (query) => outsideTransactions(() => connection.queryRaw(query)),
    executeRaw: (query) => outsideTransactions(() => connection.executeRaw(query)),
    executeScript: (script) => outsideTransactions(() => connection.executeScript(script)),
    startTransaction,
    dispose: () => connection.dispose(),
  }
}

function openTransaction(connection: SqlDriverAdapter, end: () => void): Transaction {
  async function rollback(): Promise<void> {
    try {
      await connection.executeScript('ROLLBACK')
    } catch {
      // On a full disk and the like SQLite has rolled back by itself: there is nothing left to undo.
    } finally {
      end()
    }
  }

  async function commit(): Promise<void> {
    try {
      await connection.executeScript('COMMIT')
    } catch (error) {
      await rollback()
      throw error
    }
    end()
  }

  return {
    provider: connection.provider,
    adapterName: connection.adapterName,
    // Prisma then leaves COMMIT and ROLLBACK to commit() and rollback().
    options: { usePhantomQuery: true },
    queryRaw: (query) => connection.queryRaw(query),
    executeRaw: (query) => connection.executeRaw(query),
    commit,
    rollback,
    createSavepoint: (name) => connection.executeScript(`SAVEPOINT ${name}`),
    rollbackToSavepoint: (name) => connection.executeScript(`ROLLBACK TO ${name}`),
    releaseSavepoint: (name) => connection.executeScript(`RELEASE SAVEPOINT ${name}`),
  }
}
