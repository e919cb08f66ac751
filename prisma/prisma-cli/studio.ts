import { existsSync } from 'node:fs'
import http, { type RequestListener, type ServerResponse } from 'node:http'
import type pg from 'pg'
import { DatabaseError } from '../src/database-error.ts'
import { openConnection } from '../src/postgresql/connection/connections.ts'
import { toDatabaseError } from '../src/postgresql/connection/errors.ts'
import {
  describeDatabase,
  isPostgresqlUrl,
  readServerAddress,
  type ServerAddress,
} from '../src/postgresql/connection/server-address.ts'
import { databaseFile } from '../src/sqlite/connection/database-file.ts'

/** The plants. With a query, so that this address itself is not redirected. */
const PLANTS = '/?plants#table=Plant'
/** Nothing from elsewhere. */
const POLICY = "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:"
/** Answers for Prisma, to which Studio's page reports its start: rejected by the policy, that would be an error in its log. */
const ANSWER_REPORTS = `<script>
  const send = fetch
  fetch = (target, options) =>
    new URL(target.url ?? target, location).hostname === 'checkpoint.prisma.io'
      ? Promise.resolve(Response.json({}))
      : send(target, options)
</script>`

/**
 * Makes Studio open on the plants and its page call only Studio itself, which has no settings for either: a table is
 * chosen in the page's URL, and the one that opens otherwise has no plants. It serves the page in this process.
 */
export function openStudioOnPlants(): void {
  const { createServer } = http
  const create = (listener: RequestListener) =>
    createServer((request, response) => {
      response.setHeader('Content-Security-Policy', POLICY)
      if (request.url === '/') {
        response.writeHead(302, { Location: PLANTS }).end()
        return
      }
      if (request.url?.startsWith('/?')) appendToEnd(response, ANSWER_REPORTS)
      listener(request, response)
    })
  http.createServer = create as typeof createServer
}

/** Adds text to the end of a page. What is inline there runs before the page's modules. */
function appendToEnd(response: ServerResponse, text: string): void {
  const end = response.end.bind(response)
  response.end = (chunk?: unknown) => {
    if (chunk !== undefined) response.write(chunk)
    return end(text)
  }
}

/** Returns whether this machine can show a browser. Studio would start one, or a browser for terminals. */
export function hasDisplay({ DISPLAY, WAYLAND_DISPLAY, WSL_DISTRO_NAME }: NodeJS.ProcessEnv): boolean {
  return process.platform !== 'linux' || Boolean(DISPLAY || WAYLAND_DISPLAY || WSL_DISTRO_NAME)
}

/**
 * Returns the URL of a database for Studio.
 *
 * @throws {DatabaseError} if the database does not exist, for which Studio would show no tables, or Studio cannot use it
 */
export async function prepareStudio(url: string): Promise<string> {
  if (isPostgresqlUrl(url)) return preparePostgresql(url)
  const file = databaseFile(url)
  if (existsSync(file)) return url
  throw new DatabaseError(
    `${file} does not exist yet: start the server once, or run \`npm run prisma -- migrate deploy\`.`,
  )
}

/**
 * Connects once, since Studio would start without a database, and sets the variables from which Studio's driver takes the
 * address, the user and the password.
 */
async function preparePostgresql(url: string): Promise<string> {
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
  const { pool, close } = await openConnection(address)
  try {
    const client = await pool.connect()
    client.release()
    const { user, password } = client as unknown as pg.Client
    return { user, password }
  } catch (error) {
    throw toDatabaseError(error, describeDatabase(address))
  } finally {
    await close()
  }
}
