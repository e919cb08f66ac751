import { DatabaseError } from '../../database-error.ts'

type SslMode = 'disable' | 'require' | 'verify-ca' | 'verify-full'

/** What a DATABASE_URL of PostgreSQL says. */
export interface ServerAddress {
  /** A name or an address, or the folder of a Unix socket. */
  readonly host: string
  readonly port: number
  readonly database: string
  /** Default: PGUSER, or the name of the operating system's user. */
  readonly user: string | undefined
  /** Default: PGPASSWORD, or what `~/.pgpass` has for this server. */
  readonly password: string | undefined
  /** As in libpq: `require` does not check who the server is, `verify-ca` not its name. */
  readonly sslMode: SslMode
  /** Whether the proof of the password is bound to the TLS connection, where the server supports that (RFC 5929). */
  readonly channelBinding: boolean
  /** Files in PEM format: what certifies the server, and this client's certificate and key. */
  readonly sslRootCertificate: string | undefined
  readonly sslCertificate: string | undefined
  readonly sslKey: string | undefined
  /** Whether a pooler in transaction mode is in between: then nothing may be kept in a session. */
  readonly pgbouncer: boolean
  /** How many connections this process may open. */
  readonly connectionLimit: number
  /** The name that PostgreSQL shows in `pg_stat_activity`. */
  readonly applicationName: string
}

const EXAMPLE = 'postgresql://user:password@localhost:5432/plants'
/** The beginning of a URL without a host. */
const HOSTLESS = /^postgres(?:ql)?:\/\/(?:[^/?#]*@)?(?=[/?]|:\d+[/?]|$)/i
/** Several hosts, each with a port or without. */
const SEVERAL_HOSTS = /^[^:]+:\/\/(?:[^/?#@]*@)?[^/?#@,]+,[^/?#@]*(?=[/?]|$)/

/** Parameters that are used, or checked. */
const KNOWN =
  /^(application_name|channel_binding|connection_limit|host|pgbouncer|schema|ssl(cert|key|mode|rootcert)|target_session_attrs)$/
/** Parameters of libpq, Prisma and hosts that change nothing here: time limits and the like, which are fixed. */
const IGNORED =
  /^(connect_timeout|pool_timeout|socket_timeout|statement_cache_size|max_idle_connection_lifetime|client_encoding|fallback_application_name|gssencmode|keepalives\w*|load_balance_hosts|sslcompression|sslnegotiation|sslsni|supa|tcp_user_timeout|workaround)$/
/** What to write instead of parameters that others have, and of other values than these. */
const INSTEAD: readonly (readonly [parameter: RegExp, advice: string])[] = [
  [/^channel_binding=(?!(disable|prefer|require)$)/, 'channel_binding=require, =prefer or =disable'],
  // With a single connection, one statement that waits would keep /readyz from asking what it waits for.
  [/^connection_limit=(?!([2-9]|[1-9]\d{1,2}|1000)$)/, 'a number from 2 to 1000'],
  [/^(currentSchema=|schema=(?!public$))/, 'ALTER ROLE ... SET search_path in PostgreSQL'],
  [/^options=/, 'ALTER ROLE ... SET in PostgreSQL'],
  [/^pgbouncer=(?!(false|true)$)/, 'pgbouncer=true or pgbouncer=false'],
  [/^ssl=/, 'sslmode=require, sslmode=verify-full or sslmode=disable'],
  [/^sslaccept=/, 'sslmode=verify-full, or sslmode=require to accept any certificate'],
  [
    /^sslmode=(?!(disable|require|verify-ca|verify-full)$)/,
    'sslmode=require, sslmode=verify-ca, sslmode=verify-full or sslmode=disable',
  ],
  // Every connection is to a primary, which can be written.
  [/^target_session_attrs=(?!(any|primary|read-write)$)/, 'target_session_attrs=primary'],
]

/** Returns whether a DATABASE_URL is one of PostgreSQL. */
export function isPostgresqlUrl(value: string): boolean {
  return /^postgres(ql)?:/i.test(value)
}

/**
 * Reads a DATABASE_URL of PostgreSQL, with the parameters that libpq and Prisma have for the same things.
 *
 * @throws {DatabaseError} whose message contains no part of the URL but names of parameters
 */
export function readServerAddress(value: string): ServerAddress {
  const { url, hasHost } = parse(value)
  const parameters = readParameters(url)
  const database = decode(url.pathname.slice(1))
  if (database === '') throw invalid('names no database')
  if (database.includes('/')) throw invalid('has a "/" in the name of the database, which is the last part of the path')
  const host = parameters.get('host') ?? (hasHost ? decode(url.hostname).replace(/^\[(.*)\]$/, '$1') : 'localhost')
  if (host.includes(',')) throw severalHosts()
  return {
    host,
    port: url.port === '' ? 5432 : Number(url.port),
    database,
    user: decode(url.username) || undefined,
    password: decode(url.password) || undefined,
    sslMode: readSslMode(parameters, host),
    channelBinding: parameters.get('channel_binding') === 'require',
    // As in libpq, `system` are the authorities that this computer trusts.
    sslRootCertificate: parameters.get('sslrootcert')?.replace(/^system$/, '') || undefined,
    sslCertificate: parameters.get('sslcert'),
    sslKey: parameters.get('sslkey'),
    pgbouncer: parameters.get('pgbouncer') === 'true',
    // Enough to keep a server busy: one connection writes, and reads take a fraction of a millisecond.
    connectionLimit: Number(parameters.get('connection_limit') ?? 8),
    applicationName: parameters.get('application_name') ?? 'plant-store',
  }
}

/** Returns the names of a URL's parameters that change nothing. */
export function ignoredParameters(value: string): string[] {
  if (!isPostgresqlUrl(value)) return []
  return [...parse(value).url.searchParams.keys()].filter((name) => IGNORED.test(name))
}

/** Names a database in messages, without the user and the password. */
export function describeDatabase({ host, port, database }: ServerAddress): string {
  const place = host.startsWith('/') ? `${host}, port ${port}` : `${host.includes(':') ? `[${host}]` : host}:${port}`
  return `the database ${JSON.stringify(database)} at ${place}`
}

function parse(value: string): { url: URL; hasHost: boolean } {
  // libpq allows a user or a port without a host, WHATWG URLs do not.
  const withHost = value.replace(HOSTLESS, '$&localhost')
  const url = URL.canParse(withHost) ? new URL(withHost) : undefined
  // A special character in the password ends the host early, and would make the rest of it a part of the path.
  const isCut = url !== undefined && (url.hash !== '' || url.pathname.includes('@') || url.search.includes('@'))
  if (!isCut && SEVERAL_HOSTS.test(value)) throw severalHosts()
  if (!url || isCut || !/^[^:]+:\/\//.test(value)) {
    throw invalid('is not a URL: percent-encode special characters, such as # as %23, / as %2F and @ as %40')
  }
  return { url, hasHost: withHost === value }
}

function readParameters(url: URL): Map<string, string> {
  const parameters = new Map<string, string>()
  for (const [name, value] of url.searchParams) {
    if (IGNORED.test(name)) continue
    if (value === '') throw invalid(`has no value for the parameter ${JSON.stringify(name)}`)
    const [, advice] = INSTEAD.find(([parameter]) => parameter.test(`${name}=${value}`)) ?? []
    if (advice !== undefined) throw invalid(`has an unsupported ${name}: write ${advice}`)
    if (!KNOWN.test(name)) {
      const place = 'docs/production/several-machines/README.md'
      throw invalid(`has the parameter ${JSON.stringify(name)}, which is not supported: ${place} has those that are`)
    }
    if (parameters.has(name)) throw invalid(`has the parameter ${name} twice`)
    parameters.set(name, value)
  }
  return parameters
}

function readSslMode(parameters: Map<string, string>, host: string): SslMode {
  const mode = parameters.get('sslmode') ?? 'disable'
  const file = ['sslrootcert', 'sslcert', 'sslkey'].find((name) => parameters.has(name))
  if (mode === 'disable' && file) {
    throw invalid(`has the parameter ${file}, but no sslmode that uses it: write sslmode=verify-full`)
  }
  if (mode !== 'disable' && host.startsWith('/')) throw invalid('has an sslmode, but a Unix socket is not encrypted')
  return mode as SslMode
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw invalid('has a "%" that begins no percent-encoding: write %25')
  }
}

function severalHosts(): DatabaseError {
  return invalid('names several hosts, which is not supported: name one that always leads to the primary')
}

function invalid(reason: string): DatabaseError {
  return new DatabaseError(`DATABASE_URL ${reason}; write for example ${EXAMPLE}`)
}
