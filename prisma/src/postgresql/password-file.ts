import { readFile, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import path from 'node:path'
import { StorageError } from '../database.ts'

/** The bits of a file's mode that let others read it. */
const READABLE_BY_OTHERS = 0o077
/** A field of a line: a backslash escapes a colon or a backslash. */
const FIELD = /((?:[^:\\]|\\.)*)/.source
const LINE = new RegExp(`^${Array(5).fill(FIELD).join(':')}$`)

/** What a password is for. */
interface Connection {
  readonly host: string
  readonly port: number
  readonly database: string
  readonly user: string
}

/**
 * Finds a password in the password file of libpq, which has lines `host:port:database:user:password` where `*` matches
 * anything, and the first match counts. It is PGPASSFILE, or `~/.pgpass`; on Windows `%APPDATA%\postgresql\pgpass.conf`. The
 * package `pgpass` takes the last match (1.0.5), and only warns about a file that others may read.
 *
 * @throws {StorageError} if others may read the file: libpq ignores it then
 */
export async function findPassword({ host, port, database, user }: Connection): Promise<string | undefined> {
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
