import { readFile, stat } from 'node:fs/promises'
import { homedir, userInfo } from 'node:os'
import path from 'node:path'
import type { ConnectionOptions } from 'node:tls'
import type { PoolConfig } from 'pg'
import { parse } from 'pg-connection-string'
import { StorageError } from '../engine.ts'
import { readVariable } from '../environment.ts'

/** What a DATABASE_URL of PostgreSQL says. */
export interface Address {
  /** A name or an address, or the folder of a Unix socket. */
  readonly host: string
  readonly port: number
  readonly database: string
  readonly user: string
  /** Whether a pooler in transaction mode is in between: then nothing may be kept in a session. */
  readonly isPooled: boolean
  /** How many connections this process may open. */
  readonly connectionLimit: number
  /** What the driver takes. */
  readonly config: PoolConfig
}

const EXAMPLE = 'postgresql://user:password@localhost:5432/plants'
/** User and host, the database, and the parameters. */
const URL_SHAPE = /^([a-z]+:\/\/[^/?#]*)(?:\/([^@#?]*))?(?:\?([^@#]*))?$/i
const NOT_A_URL =
  'is not a URL of one host: percent-encode special characters, such as # as %23, / as %2F and @ as %40, and name the one host that leads to the primary'
const PARAMETERS = 'docs/production/several-machines/README.md'
/**
 * Variables of libpq that say whom to trust, or which server is meant: they count where the URL lacks the parameter,
 * PGSSLMODE for `sslmode`, or are rejected as it would be. Others only tune. `PGSSL` is no variable of libpq, but was
 * meant as one.
 */
const VARIABLE =
  /^PG(CHANNELBINDING|GSSENCMODE|HOST(ADDR)?|OPTIONS|PORT|REQUIRE\w*|SERVICE(FILE)?|SSL(?!COMPRESSION|SNI)\w*|TARGETSESSIONATTRS)$/

/** Parameters that are used, or have only one value that changes nothing here. */
const USED: Readonly<Record<string, readonly string[] | RegExp>> = {
  application_name: /./,
  channel_binding: ['disable', 'prefer', 'require'],
  // With a single connection, one statement that waits would keep /readyz from asking what it waits for.
  connection_limit: /^([2-9]|[1-9]\d{1,2}|1000)$/,
  gssencmode: ['disable', 'prefer'],
  host: /./,
  options: /./,
  pgbouncer: ['true', 'false'],
  port: /^[1-9]\d{0,4}$/,
  requiressl: ['0'],
  schema: ['public'],
  sslcert: /./,
  sslcertmode: ['allow'],
  sslkey: /./,
  sslmode: ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'],
  sslnegotiation: ['postgres'],
  sslrootcert: /./,
  // Every connection is to a primary, which can be written.
  target_session_attrs: ['any', 'primary', 'read-write'],
  uselibpqcompat: ['true'],
}
const ADVICE: Readonly<Record<string, string>> = {
  connection_limit: 'a number from 2 to 1000',
  port: 'a number from 1 to 65535',
}
/** The parameter of each variable of libpq. */
const NAMES = new Map(Object.keys(USED).map((name) => [`PG${name.replaceAll('_', '').toUpperCase()}`, name]))
/** Parameters of libpq, Prisma and hosts that change nothing here: time limits and the like, which are fixed. */
const IGNORED =
  /^(connect_timeout|pool_timeout|socket_timeout|statement_cache_size|max_idle_connection_lifetime|client_encoding|fallback_application_name|keepalives\w*|load_balance_hosts|sslcompression|sslsni|supa|tcp_user_timeout|workaround)$/

/** What a parameter has been set to. */
interface Parameter {
  readonly value: string
  /** The variable that has it; undefined: the URL does. */
  readonly variable?: string
}

/**
 * Reads a DATABASE_URL of PostgreSQL as the driver does, and rejects parameters that it would ignore.
 *
 * @throws {StorageError} whose message contains no part of the URL but names of parameters and files
 */
export function readAddress(value: string): Address {
  const { own, password, ...parsed } = parseUrl(value)
  const parameters = readParameters(own)
  const database = parsed.database || readVariable(process.env, 'PGDATABASE')
  if (!database) throw invalid('names no database')
  const read = (name: string) => parameters.get(name)?.value
  const host = read('host') ?? 'localhost'
  const user = parsed.user || readVariable(process.env, 'PGUSER') || userName()
  const address = { host, port: Number(read('port') ?? 5432), database, user }
  return {
    ...address,
    isPooled: read('pgbouncer') === 'true',
    // Enough to keep a server busy: one connection writes, and reads take a fraction of a millisecond.
    connectionLimit: Number(read('connection_limit') ?? 8),
    config: {
      ...address,
      // The driver rejects an empty password where the server asks for one, with its own words.
      password: async () => password || process.env['PGPASSWORD'] || (await findPassword(address)) || '',
      // As in libpq, a Unix socket needs no encryption.
      ssl: !host.startsWith('/') && readTls(host, parameters),
      enableChannelBinding: read('channel_binding') === 'require',
      application_name: read('application_name') ?? readVariable(process.env, 'PGAPPNAME') ?? 'plant-store',
      // The driver would read PGOPTIONS only for a pool that has no options of its own.
      options: read('options'),
    },
  }
}

/** Names a database in messages, without the user and the password. */
export function describeDatabase({ host, port, database }: Pick<Address, 'host' | 'port' | 'database'>): string {
  const place = host.startsWith('/') ? `${host}, port ${port}` : `${host.includes(':') ? `[${host}]` : host}:${port}`
  return `the database ${JSON.stringify(database)} at ${place}`
}

/** Reads a URL, with the parameters that only variables have. */
function parseUrl(url: string) {
  // A special character in the password ends the host early, and would make the rest of it a part of the path.
  const [, place, path = '', query] = URL_SHAPE.exec(url) ?? []
  try {
    if (place === undefined) throw new Error(NOT_A_URL)
    const { host, port, user, password } = parse(`${place}/`)
    const own = new URLSearchParams(query)
    for (const [name, value] of Object.entries({ host, port })) if (value && !own.has(name)) own.set(name, value)
    // The driver's own reader leaves characters of the name encoded, such as `#`.
    return { user, password, database: decodeURIComponent(path), own }
  } catch {
    throw invalid(NOT_A_URL)
  }
}

/** Adds what only variables have to the parameters of a URL, and rejects what is not supported. */
function readParameters(own: URLSearchParams): Map<string, Parameter> {
  const parameters = new Map<string, Parameter>()
  for (const variable of Object.keys(process.env).filter((each) => VARIABLE.test(each))) {
    const value = readVariable(process.env, variable)
    if (value !== undefined) parameters.set(NAMES.get(variable) ?? variable, { value, variable })
  }
  for (const [name, value] of own) parameters.set(name, { value })
  for (const [name, parameter] of parameters) if (!IGNORED.test(name)) check(name, parameter)
  return parameters
}

function check(name: string, { value, variable }: Parameter): void {
  const allowed = Object.hasOwn(USED, name) ? USED[name] : undefined
  if (!allowed) {
    const which = variable ? '' : `has the parameter ${JSON.stringify(name)}, which `
    throw invalid(`${which}is not supported: ${PARAMETERS} has those that are`, variable)
  }
  if (allowed instanceof RegExp ? allowed.test(value) : allowed.includes(value)) return
  const writeOne = (values: readonly string[]) => values.map((each) => `${variable ?? name}=${each}`).join(' or ')
  const advice = allowed instanceof RegExp ? (ADVICE[name] ?? 'a value') : writeOne(allowed)
  throw invalid(`has an unsupported ${variable ? 'value' : name}: write ${advice}`, variable)
}

/** Returns the driver's options of TLS; false: it is not used. */
function readTls(host: string, parameters: ReadonlyMap<string, Parameter>): ConnectionOptions | false {
  const [mode, authorities] = [parameters.get('sslmode'), parameters.get('sslrootcert')]
  if (mode?.value === 'verify-ca' && !authorities) {
    throw invalid('has sslmode=verify-ca: add the sslrootcert to verify with', mode.variable)
  }
  // As in libpq, these are the authorities that this computer trusts, of which anybody can get a certificate.
  const isSystem = authorities?.value === 'system'
  if (isSystem && mode?.value !== 'verify-full') {
    throw invalid('has sslrootcert=system: add sslmode=verify-full', authorities.variable)
  }
  const query = new URLSearchParams()
  for (const [name, { value }] of parameters) if (name.startsWith('ssl')) query.set(name, value)
  if (isSystem) query.delete('sslrootcert')
  try {
    const { ssl } = parse(`postgresql:///?${query}`, { useLibpqCompat: true })
    // The name that the server's certificate must have, which the driver names only where it is not an IP address.
    return typeof ssl === 'object' && { host, ...(ssl as ConnectionOptions) }
  } catch (error) {
    const { message, path } = error as NodeJS.ErrnoException
    const variable = [...parameters.values()].find(({ value }) => value === path)?.variable
    throw invalid(`names a file that cannot be read (${message})`, variable)
  }
}

/** Returns the name of the operating system's user; empty where a container runs as a user without one. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return ''
  }
}

function invalid(reason: string, variable?: string): StorageError {
  return new StorageError(variable ? `${variable} ${reason}` : `DATABASE_URL ${reason}; write for example ${EXAMPLE}`)
}

/** The bits of a file's mode that let others read it. */
const READABLE_BY_OTHERS = 0o077
/** A field of a line: a backslash escapes a colon or a backslash. */
const FIELD = /((?:[^:\\]|\\.)*)/.source
const LINE = new RegExp(`^${Array(5).fill(FIELD).join(':')}$`)

/** What a password is for. */
type PasswordKey = Pick<Address, 'host' | 'port' | 'database' | 'user'>

/**
 * Finds a password in the password file of libpq, which has lines `host:port:database:user:password` where `*` matches
 * anything, and the first match counts. It is PGPASSFILE, or `~/.pgpass`; on Windows
 * `%APPDATA%\postgresql\pgpass.conf`. The package `pgpass` takes the last match (1.0.5), and only warns about a file
 * that others may read.
 *
 * @throws {StorageError} if others may read the file: libpq ignores it then
 */
async function findPassword({ host, port, database, user }: PasswordKey): Promise<string | undefined> {
  const wanted = [host, String(port), database, user]
  for (const line of (await readPasswordFile()).split(/\r?\n/)) {
    const fields = line.startsWith('#') ? undefined : LINE.exec(line)?.slice(1)
    const values = fields?.map((field) => field.replace(/\\(.)/g, '$1')) ?? []
    // As in libpq, the server of a Unix socket may be called localhost.
    if (host.startsWith('/') && values[0] === 'localhost') values[0] = host
    if (fields && wanted.every((value, index) => fields[index] === '*' || values[index] === value)) return values[4]
  }
  return undefined
}

async function readPasswordFile(): Promise<string> {
  const { PGPASSFILE, APPDATA } = process.env
  const isWindows = process.platform === 'win32' && APPDATA !== undefined
  const usual = isWindows ? path.join(APPDATA, 'postgresql', 'pgpass.conf') : path.join(homedir(), '.pgpass')
  const file = PGPASSFILE || usual
  const status = await stat(file).catch(() => undefined)
  if (!status?.isFile()) return ''
  if (process.platform !== 'win32' && (status.mode & READABLE_BY_OTHERS) !== 0) {
    throw new StorageError(`The password file ${file} can be read by others: run chmod 600 on it`)
  }
  return readFile(file, 'utf8')
}
