/** The commands that look after a server and its database: ready, migrate, backup. */
import path from 'node:path'
import { backupDatabase, checkMigrated, migrateDatabase } from '@plant-store/prisma'
import { OperatorError } from '../operator-error.ts'
import type { Context } from './context.ts'

/** How long the server may take to respond, in milliseconds: it gives up on its database after 2.5 s. */
const READY_TIMEOUT = 4_000

/**
 * Asks the admin port whether the server is ready, and prints that it is.
 *
 * @throws {OperatorError} with the reason if it is not, with exit code 2 if the settings name no admin port
 */
export async function checkReadiness({ settings: { adminHost, adminPort }, print }: Context): Promise<void> {
  if (!adminPort) throw new OperatorError('ADMIN_PORT must be a port, such as 3001, on which the server can be asked')
  // A server that listens on all addresses listens on the loopback address.
  const host = adminHost.replace(/^0\.0\.0\.0$/, '127.0.0.1').replace(/^[0:]+$/, '::1')
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${adminPort}/readyz`
  const [status, body] = await fetch(url, { signal: AbortSignal.timeout(READY_TIMEOUT) })
    .then(async (response) => [response.status, (await response.text()).trim()] as const)
    .catch((error) => {
      const reason = error.cause?.message ?? error.message
      throw new OperatorError(`no server responds on ADMIN_HOST ${host}, ADMIN_PORT ${adminPort}: ${reason}`, 1, error)
    })
  if (status === 200) return print(body)
  const other = `ADMIN_PORT ${adminPort} is of another program: it responds ${status}`
  throw new OperatorError(status === 503 ? body : other, 1)
}

/** Migrates the database and prints what was applied, or only checks that nothing would be. */
export async function migrate({ settings, print, progress }: Context, { check }: { check?: boolean }): Promise<void> {
  if (check) await checkMigrated(settings.databaseUrl)
  const onMigration = (name: string, done: number, total: number) =>
    progress(`Applying the migration ${name}, ${done + 1} of ${total}`)
  const options = { onMigration, onWaiting: progress }
  const { applied } = check ? { applied: [] } : await migrateDatabase(settings.databaseUrl, undefined, options)
  await print(applied.length === 0 ? 'The database is up to date.' : `Applied: ${applied.join(', ')}`)
}

/** Copies the database to a file, relative to the current folder. */
export async function backup({ settings, print, progress }: Context, file: string): Promise<void> {
  const target = path.resolve(file)
  await backupDatabase(settings.databaseUrl, target, (done, total) =>
    progress(`Copying the database: ${formatBytes(done)} of at most ${formatBytes(total)}`),
  )
  await print(`The database is copied to ${target}.`)
}

function formatBytes(bytes: number): string {
  return `${bytes.toLocaleString('en-US')} byte${bytes === 1 ? '' : 's'}`
}
