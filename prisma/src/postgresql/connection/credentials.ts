import { readFileSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import path from 'node:path'
import { type ConnectionOptions, createSecureContext, type SecureContextOptions } from 'node:tls'
import { DatabaseError, errorReason } from '../../database-error.ts'
import type { ServerAddress } from './server-address.ts'

/** The bits of a file's mode that let others read it. */
const READABLE_BY_OTHERS = 0o077
/** A field of a line of a password file: a backslash escapes a colon or a backslash. */
const FIELD = /((?:[^:\\]|\\.)*)/.source
const LINE = new RegExp(`^${Array(5).fill(FIELD).join(':')}$`)

/**
 * Returns how to encrypt connections; `false`: not at all.
 *
 * @throws {DatabaseError} if a certificate or key cannot be read or used
 */
export function readTlsOptions(address: ServerAddress): ConnectionOptions | false {
  const { sslMode, host, sslRootCertificate, sslCertificate, sslKey } = address
  if (sslMode === 'disable') return false
  const files: SecureContextOptions = {}
  if (sslRootCertificate !== undefined) addPem(files, 'ca', 'sslrootcert', sslRootCertificate)
  if (sslCertificate !== undefined) addPem(files, 'cert', 'sslcert', sslCertificate)
  if (sslKey !== undefined) addPem(files, 'key', 'sslkey', sslKey)
  return {
    // The name that the server's certificate must have.
    host,
    // As in libpq, `require` is `verify-ca` if the URL names what to verify with.
    rejectUnauthorized: sslMode !== 'require' || sslRootCertificate !== undefined,
    ...(sslMode !== 'verify-full' && { checkServerIdentity: () => undefined }),
    ...files,
  }
}

/** Reads a file, and checks it together with those that were read before: a key must match its certificate. */
function addPem(files: SecureContextOptions, option: 'ca' | 'cert' | 'key', parameter: string, file: string): void {
  try {
    files[option] = readFileSync(file, 'utf8')
    // An authority without a certificate would silently trust no server.
    if (option === 'ca' && !files[option].includes('-----BEGIN')) throw new Error('it has no certificate')
    createSecureContext(files)
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? errorReason(error)
    throw new DatabaseError(`DATABASE_URL names the file ${file} as ${parameter}, which cannot be used (${reason})`)
  }
}

/**
 * Finds a password in the password file of libpq, which has lines `host:port:database:user:password` where `*` matches
 * anything. It is PGPASSFILE, or `~/.pgpass`; on Windows `%APPDATA%\postgresql\pgpass.conf`. The package `pgpass` misreads
 * fields that end in a backslash, and only warns about a file that others may read.
 *
 * @throws {DatabaseError} if others may read the file: libpq ignores it then
 */
export async function findPassword({ host, port, database }: ServerAddress, user: string): Promise<string | undefined> {
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
    throw new DatabaseError(`The password file ${file} can be read by others: run chmod 600 on it`)
  }
  return readFile(file, 'utf8')
}
