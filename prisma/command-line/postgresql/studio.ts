import type pg from 'pg'
import { DatabaseError } from '../../src/database-error.ts'
import { toDatabaseError } from '../../src/postgresql/connection/errors.ts'
import { createSingleConnection } from '../../src/postgresql/connection/pool.ts'
import {
  describeDatabase,
  readServerAddress,
  type ServerAddress,
} from '../../src/postgresql/connection/server-address.ts'

/**
 * Connects once, since Studio would start without a database, and sets the variables from which Studio's driver takes the
 * address, the user and the password.
 */
export async function prepareStudio(url: string): Promise<string> {
  const address = readServerAddress(url)
  const reason = whyUnsupported(address)
  if (reason !== undefined) throw new DatabaseError(reason)
  const { host, port, database, sslMode, pgbouncer } = address
  const { user, password } = await findUser(address)
  const variables = { PGHOST: host, PGPORT: String(port), PGDATABASE: database, PGUSERNAME: user, PGPASSWORD: password }
  for (const [name, value] of Object.entries(variables)) if (value != null) process.env[name] = value
  const parameters = new URLSearchParams()
  // Studio's driver does not know verify-ca.
  if (sslMode !== 'disable') parameters.set('sslmode', sslMode === 'require' ? 'require' : 'verify-full')
  if (pgbouncer) parameters.set('prepare', 'false')
  return `postgresql:///?${parameters}`
}

function whyUnsupported({ sslRootCertificate, sslCertificate }: ServerAddress): string | undefined {
  if (sslCertificate !== undefined) return 'Prisma Studio does not support sslcert in DATABASE_URL: use a password'
  // Node.js reads this variable when it starts.
  if (sslRootCertificate === undefined || process.env['NODE_EXTRA_CA_CERTS'] === sslRootCertificate) return undefined
  return `Prisma Studio does not support sslrootcert in DATABASE_URL: run it with NODE_EXTRA_CA_CERTS=${sslRootCertificate}`
}

/** Connects, and returns the user and the password, which may come from the environment or `~/.pgpass`. */
async function findUser(address: ServerAddress): Promise<Pick<pg.Client, 'user' | 'password'>> {
  const { connections, close } = await createSingleConnection(address)
  try {
    const client = await connections.connect()
    client.release()
    const { user, password } = client as unknown as pg.Client
    return { user, password }
  } catch (error) {
    throw toDatabaseError(error, describeDatabase(address))
  } finally {
    await close()
  }
}
