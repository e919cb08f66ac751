/** Who connects to PostgreSQL and how: TLS, Unix sockets, passwords. */
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { openDatabase } from '@plant-store/prisma'
import { expect, test, vi } from 'vitest'
import { runSql, startOwnPostgresql } from '../../../test/helpers/database/databases.ts'
import { isInstalled } from '../../../test/helpers/production/guide.ts'
import { afterFile, temporaryFolder } from '../../../test/helpers/temporary.ts'
import { outcomeOf } from '../helpers/open-client.ts'

/** Has every character that means something in a URL, in SQL, or to a shell. */
const PASSWORD = `p@ss:w/o?r#d% +&=;'"\\$\`🪴é`
const ENCODED = encodeURIComponent(PASSWORD)
const RULES = `
  local all all trust
  hostnossl all encrypted all reject
  host all secretive all scram-sha-256
  host all all all trust`
const TLS = { ssl: 'on', ssl_cert_file: 'host.pem', ssl_key_file: 'host-key.pem' }
const REJECTED =
  /rejects this user or password: check DATABASE_URL, PGPASSWORD or PGPASSWORD_FILE \(~\/\.pgpass is not read\)/

const files = temporaryFolder()
const passwordFile = path.join(files, 'password')
writeFileSync(passwordFile, PASSWORD)
// Node.js itself can only read certificates.
const hasOpenssl = isInstalled('openssl')
if (hasOpenssl) createCertificates()
const socketFolder = temporaryFolder()
chmodSync(socketFolder, 0o777)
const server = await startOwnPostgresql({
  settings: { unix_socket_directories: socketFolder, ...(hasOpenssl && TLS) },
  prepare(folder) {
    giveFile(folder, 'pg_hba.conf', RULES)
    if (hasOpenssl) for (const name of ['host.pem', 'host-key.pem']) giveFile(folder, name)
  },
})
const literal = `E'${PASSWORD.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
await runSql(
  await server.create('plants'),
  `CREATE ROLE encrypted LOGIN SUPERUSER; CREATE ROLE secretive LOGIN SUPERUSER PASSWORD ${literal}`,
)

/** Creates a certificate authority in the folder, `ca.pem`, and the certificate of a host, `host.pem`, with its key. */
function createCertificates(): void {
  const key = '-nodes -newkey ec -pkeyopt ec_paramgen_curve:P-256 -keyout'
  const run = (command: string) => execFileSync('openssl', command.split(' '), { cwd: files, stdio: 'pipe' })
  run(`req -x509 ${key} ca-key.pem -subj /CN=ca -days 2 -out ca.pem`)
  writeFileSync(path.join(files, 'names'), 'subjectAltName=DNS:localhost')
  run(`req ${key} host-key.pem -subj /CN=localhost -out request`)
  run('x509 -req -in request -CA ca.pem -CAkey ca-key.pem -CAcreateserial -days 2 -extfile names -out host.pem')
}

/** Writes a file that only the user may read who runs PostgreSQL, by default a copy of one of ours. */
function giveFile(folder: string, name: string, text = readFileSync(path.join(files, name), 'utf8')): void {
  const { uid, gid } = statSync(folder)
  writeFileSync(path.join(folder, name), text, { mode: 0o600 })
  chownSync(path.join(folder, name), uid, gid)
}

/** Returns the URL of the database: PORT, SOCKET and files in PEM format are replaced. */
function urlOf(text: string): string {
  const place = text.includes('PORT') ? text : text.replace(/^(.*@)?([^?]*)/, '$1$2:PORT/plants')
  const parameter = (name: string) => encodeURIComponent(path.join(files, name))
  const url = place.replace('PORT', String(server.port)).replaceAll('SOCKET', encodeURIComponent(socketFolder))
  return `postgresql://${url.replace(/[\w-]+\.pem/g, parameter)}`
}

/** Opens a database and uses it, and returns the message of the error. */
const open = (text: string) =>
  outcomeOf(openDatabase(urlOf(text)).then(({ isEmpty, close }) => isEmpty().finally(close)))

const FAILS = 'cannot be reached over TLS: check sslmode and the certificates \\('
const UNTRUSTED = new RegExp(`${FAILS}.*certificate`)

test.runIf(hasOpenssl).each<[url: string, outcome: RegExp]>([
  ['postgres@127.0.0.1?sslmode=verify-ca&sslrootcert=ca.pem', /^done$/],
  ['postgres@localhost?sslmode=verify-full&sslrootcert=ca.pem', /^done$/],
  // The certificate has no address.
  ['postgres@127.0.0.1?sslmode=verify-full&sslrootcert=ca.pem', new RegExp(`${FAILS}.*altnames`)],
  ['postgres@localhost?sslmode=verify-full', UNTRUSTED],
  // As in libpq, a certificate authority that is named is used.
  ['postgres@localhost?sslmode=require&sslrootcert=host.pem', UNTRUSTED],
  ['encrypted@localhost', /rejects this user or password: .*sslmode, .* \(.*no encryption\)$/],
  ['encrypted@localhost?sslmode=require', /^done$/],
])('TLS: %s %s', async (url, outcome) => {
  expect(await open(url)).toMatch(outcome)
})

test.each([
  ['a Unix socket', 'postgres@localhost:PORT/plants?host=SOCKET', ''],
  ['a password of special characters', `secretive:${ENCODED}@127.0.0.1`, ''],
  ['PGPASSWORD', 'secretive@127.0.0.1', PASSWORD],
])('a database is opened with %s', async (_what, url, password) => {
  vi.stubEnv('PGPASSWORD', password)
  expect(await open(url)).toBe('done')
})

// In less time than a startup waits for what may go away.
test.each(['secretive:wrong', 'secretive', 'unknown:wrong'])('%s is rejected', { timeout: 9_000 }, async (user) => {
  expect(await open(`${user}@127.0.0.1`)).toMatch(REJECTED)
})

test('a password that changes, in PostgreSQL and in the file of it: a server goes on', async () => {
  vi.stubEnv('PGPASSWORD_FILE', passwordFile)
  await expect(openDatabase(urlOf(`secretive:${ENCODED}@127.0.0.1`))).rejects.toThrow(
    /PGPASSWORD_FILE is set: remove one/,
  )
  const { isEmpty, whyUnavailable, close } = await openDatabase(urlOf('secretive@127.0.0.1'))
  afterFile(close)
  // As PostgreSQL does when it restarts.
  const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'secretive'`
  await runSql(server.url('plants'), `ALTER ROLE secretive PASSWORD 'next'; ${end}`)
  await expect.poll(whyUnavailable).toMatch(/^The database rejects this user or password/)
  writeFileSync(passwordFile, 'next\n')
  await expect.poll(whyUnavailable).toBe(undefined)
  expect(await isEmpty()).toBe(true)
})
