import http, { type RequestListener } from 'node:http'
import { isPostgresqlUrl, loadEngine } from '../src/address.ts'
import { readAddress } from '../src/postgresql/address.ts'

/** Nothing from elsewhere, and in no frame of another page. */
const POLICY = "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; frame-ancestors 'none'"

/**
 * Lets the page of Studio, which reads and writes with the rights of the database's owner, load and call only Studio
 * itself. It has no setting for that, and serves the page in this process.
 */
export function protectStudio(): void {
  const { createServer } = http
  const create = (listener: RequestListener) =>
    createServer((request, response) => {
      response.setHeader('Content-Security-Policy', POLICY)
      listener(request, response)
    })
  http.createServer = create as typeof createServer
}

/**
 * Returns the URL of a database for Studio, which rejects parameters of others: it reads the rest from the environment.
 *
 * @throws {StorageError} if the database does not exist or cannot be used: Studio would show no tables
 */
export async function prepareStudio(url: string): Promise<string> {
  const engine = await loadEngine(url)
  await using session = await engine.beginReading()
  await session.query(engine.selectTables)
  if (!isPostgresqlUrl(url)) return url
  const { isPooled, config } = readAddress(url)
  const { host, port, database, user } = config
  const password = typeof config.password === 'function' ? await config.password() : ''
  const variables = { PGHOST: host, PGPORT: String(port), PGDATABASE: database, PGUSERNAME: user, PGPASSWORD: password }
  Object.assign(process.env, variables)
  const parameters = new URLSearchParams()
  // Studio's driver does not know verify-ca.
  const sslMode = new URL(url).searchParams.get('sslmode')?.replace('verify-ca', 'verify-full')
  if (sslMode) parameters.set('sslmode', sslMode)
  if (isPooled) parameters.set('prepare', 'false')
  return `postgresql:///?${parameters}`
}
