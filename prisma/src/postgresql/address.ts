import { readFile, stat } from 'node:fs/promises'
import { homedir, userInfo } from 'node:os'
import path from 'node:path'
import type { ConnectionOptions } from 'node:tls'
import type { PoolConfig } from 'pg'
import { parse } from 'pg-connection-string'
import { StorageError } from '../engine.ts'
import { trimInvisible } from '../environment.ts'

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
const URL_SHAPE = /^[a-z]+:\/\/[^/?#]*(?:\/([^@#?]*))?(?:\?[^@#]*)?$/i
const NOT_A_URL =
  'is not a URL of one host: percent-encode special characters, such as # as %23, / as %2F and @ as %40, and name the one host that leads to the primary'
const PARAMETERS = 'docs/production/several-machines/README.md'
/**
 * Variables of libpq that say whom to trust, or which server is meant: they count where the URL lacks the parameter, PGSSLMODE
 * for `sslmode`, or are rejected as it would be. Others only tune. `PGSSL` is no variable of libpq, but was meant as one.
 */
const VARIABLE =
  /^PG(CHANNELBINDING|GSSENCMODE|HOSTADDR|REQUIRE\w*|SERVICE(FILE)?|SSL(?!COMPRESSION|SNI)\w*|TARGETSESSIONATTRS)$/

/** Parameters that are used, and the values that some may have. */
const USED: Readonly<Record<string, readonly string[] | RegExp>> = {
  application_name: /./,
  channel_binding: ['disable', 'prefer', 'require'],
  // With a single connection, one statement that waits would keep /readyz from asking what it waits for.
  connection_limit: /^([2-9]|[1-9]\d{1,2}|1000)$/,
  gssencmode: ['disable', 'prefer'],
  host: /./,
  options: /./,
  pgbouncer: ['true', 'false'],
  port: /^\d+$/,
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
const ADVICE: Readonly<Record<string, string>> = { connection_limit: 'a number from 2 to 1000' }
/** Parameters of libpq, Prisma and hosts that change nothing here: time limits and the like, which are fixed. */
const IGNORED =
  /^(connect_timeout|pool_timeout|socket_timeout|statement_cache_size|max_idle_connection_lifetime|client_encoding|fallback_application_name|keepalives\w*|load_balance_hosts|sslcompression|sslsni|supa|tcp_user_timeout|workaround)$/

/**
 * Reads a DATABASE_URL of PostgreSQL as the driver does, and rejects parameters that it would ignore.
 *
 * @throws {StorageError} whose message contains no part of the URL but names of parameters and files
 */
export function readAddress(value: string): Address {
  // A special character in the password ends the host early, and would make the rest of it a part of the path.
  if (!URL_SHAPE.test(value)) throw invalid(NOT_A_URL)
  const { ssl, ...parsed } = parseUrl(addVariables(value))
  const database = parsed.database || readVariable('PGDATABASE')
  if (!database) throw invalid('names no database')
  const host = parsed.host || readVariable('PGHOST') || 'localhost'
  const port = Number(parsed.port || readVariable('PGPORT') || 5432)
  const user = parsed.user || readVariable('PGUSER') || userName()
  const address = { host, port, database, user }
  return {
    ...address,
    isPooled: parsed['pgbouncer'] === 'true',
    // Enough to keep a server busy: one connection writes, and reads take a fraction of a millisecond.
    connectionLimit: Number(parsed['connection_limit'] ?? 8),
    config: {
      ...address,
      // The driver rejects an empty password where the server asks for one, with its own words.
      password: async () => parsed.password || process.env['PGPASSWORD'] || (await findPassword(address)) || '',
      // The name that the server's certificate must have, which the driver names only where it is not an IP address.
      // As in libpq, a Unix socket needs no encryption.
      ssl: typeof ssl === 'object' && !host.startsWith('/') && { host, ...(ssl as ConnectionOptions) },
      enableChannelBinding: parsed['channel_binding'] === 'require',
      application_name: parsed.application_name ?? (readVariable('PGAPPNAME') || 'plant-store'),
      // The driver would read PGOPTIONS only for a pool that has no options of its own.
      options: parsed.options ?? (readVariable('PGOPTIONS') || undefined),
    },
  }
}

/** Names a database in messages, without the user and the password. */
export function describeDatabase({ host, port, database }: Pick<Address, 'host' | 'port' | 'database'>): string {
  const place = host.startsWith('/') ? `${host}, port ${port}` : `${host.includes(':') ? `[${host}]` : host}:${port}`
  return `the database ${JSON.stringify(database)} at ${place}`
}

/** Checks the parameters of a URL, and adds those that only variables have. */
function addVariables(url: string): string {
  const own = new URLSearchParams(url.split('?').slice(1).join('?'))
  for (const [name, text] of own) checkParameter(name, text)
  const parameters = new Map(own)
  let result = url
  for (const variable of Object.keys(process.env).filter((each) => VARIABLE.test(each))) {
    const text = readVariable(variable)
    const name = Object.keys(USED).find((each) => `PG${each.replaceAll('_', '').toUpperCase()}` === variable) ?? ''
    if (text === '' || parameters.has(name)) continue
    checkParameter(name, text, variable)
    parameters.set(name, text)
    result += `${result.includes('?') ? '&' : '?'}${name}=${encodeURIComponent(text).replaceAll('%2F', '/')}`
  }
  const [mode, authorities] = [parameters.get('sslmode'), parameters.get('sslrootcert')]
  const variable = own.has('sslmode') || own.has('sslrootcert') ? undefined : `PGSSL${mode ? 'MODE' : 'ROOTCERT'}`
  if (mode === 'verify-ca' && !authorities) {
    throw invalid('has sslmode=verify-ca: add the sslrootcert to verify with', variable)
  }
  // As in libpq, these are the authorities that this computer trusts, of which anybody can get a certificate.
  if (authorities !== 'system') return result
  if (mode !== 'verify-full') throw invalid('has sslrootcert=system: add sslmode=verify-full', variable)
  return result.replace(/(?<=[?&])sslrootcert=system(&|$)/g, '')
}

/** Rejects what is not supported. `variable` has the parameter; undefined: the URL has it. */
function checkParameter(name: string, text: string, variable?: string): void {
  if (IGNORED.test(name)) return
  const allowed = Object.hasOwn(USED, name) ? USED[name] : undefined
  if (!allowed) {
    const which = variable ? '' : `has the parameter ${JSON.stringify(name)}, which `
    throw invalid(`${which}is not supported: ${PARAMETERS} has those that are`, variable)
  }
  if (allowed instanceof RegExp ? allowed.test(text) : allowed.includes(text)) return
  const shown = variable ?? name
  const values =
    allowed instanceof RegExp ? (ADVICE[name] ?? 'a value') : allowed.map((each) => `${shown}=${each}`).join(' or ')
  throw invalid(`has an unsupported ${variable ? 'value' : name}: write ${values}`, variable)
}

function parseUrl(value: string) {
  try {
    const [, path = ''] = URL_SHAPE.exec(value) ?? []
    // The driver's own reader leaves characters of the name encoded, such as `#`.
    const database = decodeURIComponent(path)
    return Object.assign(parse(value, { useLibpqCompat: !value.includes('uselibpqcompat=') }), { database })
  } catch (error) {
    const { syscall, message, path } = error as NodeJS.ErrnoException
    if (!syscall) throw invalid(NOT_A_URL)
    const variable = Object.keys(process.env).find((each) => VARIABLE.test(each) && readVariable(each) === path)
    throw invalid(`names a file that cannot be read (${message})`, variable)
  }
}

/** Returns a variable of libpq; empty: it is not set. */
function readVariable(name: string): string {
  return trimInvisible(process.env[name] ?? '')
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
 * anything, and the first match counts. It is PGPASSFILE, or `~/.pgpass`; on Windows `%APPDATA%\postgresql\pgpass.conf`. The
 * package `pgpass` takes the last match (1.0.5), and only warns about a file that others may read.
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
