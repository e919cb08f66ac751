import { databaseUrl } from '../src/database-url.ts'
import { isPostgresqlUrl, readServerAddress } from '../src/postgresql/connection/server-address.ts'

/**
 * Returns a DATABASE_URL without its password and parameters: the Prisma command line passes it to the schema engine as an
 * argument, which every user of the machine can read. The engine takes the rest from the environment.
 */
export function argumentUrl(value: string | undefined): string {
  if (value === undefined || !isPostgresqlUrl(value)) return databaseUrl(value)
  const { host, port, database, user } = readServerAddress(value)
  const userInfo = user === undefined ? '' : `${encodeURIComponent(user)}@`
  const isFolder = host.startsWith('/')
  const name = isFolder ? 'localhost' : host.includes(':') ? `[${host}]` : host
  const parameters = isFolder ? `?host=${encodeURIComponent(host)}` : ''
  return `postgresql://${userInfo}${name}:${port}/${encodeURIComponent(database)}${parameters}`
}
