import { readFile } from 'node:fs/promises'
import type { ConnectionOptions } from 'node:tls'
import type { PoolConfig } from 'pg'
import { parse } from 'pg-connection-string'
import { StorageError } from '../engine.ts'

/** What a DATABASE_URL of PostgreSQL says. */
export interface Address {
  /** Names the database at the beginning of messages, without user and password. */
  readonly subject: string
  /** Whether a pooler in transaction mode is in between: then nothing may be kept in a session. */
  readonly isPooled: boolean
  /** How many connections this process may open. */
  readonly connectionLimit: number
  /** What the driver takes. The host is a name or an address, or the folder of a Unix socket. */
  readonly config: PoolConfig & Record<'host' | 'database' | 'user', string> & { readonly port: number }
}

const EXAMPLE = 'postgresql://user:password@localhost:5432/plants'
/** User and host, the database, and the parameters. */
const URL_SHAPE = /^([a-z]+:\/\/[^/?#]*)(?:\/([^@#?]*))?(?:\?([^@#]*))?$/i
const NOT_A_URL =
  'is not a URL of one host: percent-encode special characters, such as # as %23, / as %2F and @ as %40, and name the one host that leads to the primary'

/** The parameters that may stand in a DATABASE_URL, with the values of each. */
const PARAMETERS: Readonly<Record<string, RegExp>> = {
  application_name: /./,
  // With a single connection, one statement that waits would keep /readyz from asking what it waits for.
  connection_limit: /^([2-9]|[1-9]\d{1,2}|1000)$/,
  host: /./,
  options: /./,
  pgbouncer: /^(true|false)$/,
  port: /^[1-9]\d{0,4}$/,
  sslcert: /./,
  sslkey: /./,
  sslmode: /^(disable|prefer|require|verify-ca|verify-full)$/,
  sslrootcert: /./,
}

/**
 * Variables by which libpq or the driver would trust another server, or connect to another one, as another user or in
 * another way, unless the part or parameter of a DATABASE_URL with the rest of the name says it.
 */
const VARIABLE =
  /^PG(BINARY|CHANNELBINDING|CLIENT_ENCODING|DATABASE|GSSENCMODE|HOST(ADDR)?|OPTIONS|PASSFILE|PORT|REPLICATION|REQUIRE\w*|SERVICE(FILE)?|SSL\w*|TARGETSESSIONATTRS|USER)$/

/**
 * Reads a DATABASE_URL of PostgreSQL as the driver does, and rejects parameters that it would ignore, and variables that
 * would add to it. Of these, only PGPASSWORD is read, or the file that PGPASSWORD_FILE names, for each new connection.
 *
 * @throws {StorageError} whose message contains no part of the URL but names of parameters and files
 */
export function readAddress(value: string): Address {
  const { user, database, parameters, ...parsed } = parseUrl(value)
  const password = parsed.password || process.env['PGPASSWORD'] || ''
  const passwordFile = process.env['PGPASSWORD_FILE']?.trim()
  if (password && passwordFile) throw invalid('or PGPASSWORD has a password, and PGPASSWORD_FILE is set: remove one')
  rejectVariables({ ...Object.fromEntries(parameters), user, database, passfile: password || passwordFile })
  for (const [name, text] of parameters) checkParameter(name, text)
  if (!database) throw invalid('names no database')
  const host = parameters.get('host') ?? 'localhost'
  const place = { host, port: Number(parameters.get('port') ?? 5432), database, user: user ?? '' }
  const subject = describeDatabase(place)
  return {
    subject,
    isPooled: parameters.get('pgbouncer') === 'true',
    // Enough to keep a server busy: one connection writes, and reads take a fraction of a millisecond.
    connectionLimit: Number(parameters.get('connection_limit') ?? 8),
    config: {
      ...place,
      // A function: the driver would look for a missing one in `~/.pgpass`.
      password: () => (passwordFile ? readPassword(passwordFile, subject) : password),
      // As in libpq, a Unix socket needs no encryption.
      ssl: !host.startsWith('/') && readTls(host, parameters),
      application_name: parameters.get('application_name') ?? 'plant-store',
      options: parameters.get('options'),
    },
  }
}

function describeDatabase({ host, port, database }: Pick<Address['config'], 'host' | 'port' | 'database'>): string {
  const place = host.startsWith('/') ? `${host}, port ${port}` : `${host.includes(':') ? `[${host}]` : host}:${port}`
  return `the database ${JSON.stringify(database)} at ${place}`
}

/** Reads a password from a file, which another program may be about to write. */
async function readPassword(file: string, subject: string): Promise<string> {
  const fail = (reason: string, cause?: unknown) => {
    const message = `${subject} gets no password: the file that PGPASSWORD_FILE names ${reason}`
    throw new StorageError(message, { isTemporary: true, cause })
  }
  const text = await readFile(file, 'utf8').catch((error) => fail(`cannot be read (${error.code})`, error))
  return text.replace(/[\r\n]+$/, '') || fail('is empty')
}

/** Reads a URL, with host and port as parameters. */
function parseUrl(url: string) {
  // A special character in the password ends the host early, and would make the rest of it a part of the path.
  const [, place, path = '', query] = URL_SHAPE.exec(url) ?? []
  try {
    if (place === undefined) throw new Error(NOT_A_URL)
    const { user, password, ...parsed } = parse(`${place}/`)
    const parameters = new Map(new URLSearchParams(query))
    for (const name of ['host', 'port'] as const) {
      if (parsed[name] && !parameters.has(name)) parameters.set(name, parsed[name])
    }
    // The driver's own reader leaves characters of the name encoded, such as `#`.
    return { user, password, database: decodeURIComponent(path), parameters }
  } catch {
    throw invalid(NOT_A_URL)
  }
}

function rejectVariables(address: Readonly<Record<string, string | undefined>>): void {
  const isSaid = (variable: string) => Boolean(address[variable.slice(2).toLowerCase()])
  const variable = Object.keys(process.env).find((name) => process.env[name] && VARIABLE.test(name) && !isSaid(name))
  if (variable)
    throw invalid(`does not say what ${variable} does, which is not read: add that to it, or unset ${variable}`)
}

function checkParameter(name: string, value: string): void {
  if (!Object.hasOwn(PARAMETERS, name)) {
    const names = Object.keys(PARAMETERS).join(', ')
    throw invalid(
      `has the parameter ${JSON.stringify(name)}, which is not supported: remove it; those that are: ${names}`,
    )
  }
  if (!PARAMETERS[name]?.test(value)) throw invalid(`has an invalid value of the parameter "${name}"`)
}

/** Returns the driver's options of TLS; false: it is not used. */
function readTls(host: string, parameters: ReadonlyMap<string, string>): ConnectionOptions | false {
  const [mode, authorities] = [parameters.get('sslmode'), parameters.get('sslrootcert')]
  // As in libpq, these are the authorities that this computer trusts, of which anybody can get a certificate.
  const isSystem = authorities === 'system'
  if (isSystem && mode !== 'verify-full') throw invalid('has sslrootcert=system: add sslmode=verify-full')
  const query = new URLSearchParams([...parameters])
  if (isSystem) query.delete('sslrootcert')
  try {
    const { ssl } = parse(`postgresql:///?${query}`, { useLibpqCompat: true })
    // The name that the server's certificate must have, which the driver names only where it is not an IP address.
    return typeof ssl === 'object' && { host, ...(ssl as ConnectionOptions) }
  } catch (error) {
    throw invalid(`has parameters of TLS that cannot be used (${(error as Error).message})`)
  }
}

function invalid(reason: string): StorageError {
  return new StorageError(`DATABASE_URL ${reason}; write for example ${EXAMPLE}`)
}
