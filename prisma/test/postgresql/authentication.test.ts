/** Who connects to PostgreSQL and how: TLS, client certificates, Unix sockets, passwords. */
import { chmodSync, chownSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { migrateDatabase, openDatabase } from '@plant-store/prisma'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { runSql } from '../../../test/helpers/database/databases.ts'
import { type PostgresqlServer, startPostgresql } from '../../../test/helpers/database/postgresql.ts'
import { type Authority, createAuthority } from '../../../test/helpers/network/certificates.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'

/** Has every character that means something in a URL, in SQL, in a password file, or to a shell. */
const PASSWORD = `p@ss:w/o?r#d% +&=;'"\\$\`🪴é`

const files = temporaryFolder()
const file = (name: string) => path.join(files, name)
/** The path of a file, percent-encoded for a parameter of a URL. */
const parameter = (name: string) => encodeURIComponent(file(name))

let authority: Authority
let secured: PostgresqlServer
let plain: PostgresqlServer
let socketFolder: string
beforeAll(async () => {
  authority = createAuthority('Plant Store Test')
  const host = authority.issue('localhost', ['127.0.0.1'])
  const client = authority.issue('gardener')
  writeFileSync(file('ca.pem'), authority.certificate)
  writeFileSync(file('other-ca.pem'), createAuthority('Somebody Else').certificate)
  writeFileSync(file('client.pem'), client.certificate)
  writeFileSync(file('client-key.pem'), client.key)
  writeFileSync(file('empty.pem'), 'nothing')
  secured = await startPostgresql({
    settings: { ssl: 'on', ssl_cert_file: 'host.pem', ssl_key_file: 'host-key.pem', ssl_ca_file: 'ca.pem' },
    prepare(folder) {
      const give = (name: string, text: string) => giveFile(folder, name, text)
      give('host.pem', host.certificate)
      give('host-key.pem', host.key)
      give('ca.pem', authority.certificate)
      const rules = [
        'hostssl all gardener all cert',
        'host all secretive all scram-sha-256',
        'host all outdated all md5',
        'host all all all trust',
      ]
      give('pg_hba.conf', `${rules.join('\n')}\n`)
    },
  })
  socketFolder = temporaryFolder()
  chmodSync(socketFolder, 0o777)
  plain = await startPostgresql({ settings: { unix_socket_directories: socketFolder } })
  const literal = `E'${PASSWORD.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  await runSql(
    secured.url('postgres'),
    `CREATE ROLE gardener LOGIN SUPERUSER;
     CREATE ROLE secretive LOGIN SUPERUSER PASSWORD ${literal};
     SET password_encryption = md5; CREATE ROLE outdated LOGIN SUPERUSER PASSWORD ${literal}`,
  )
  await migrateDatabase(secured.url('plants'))
  await migrateDatabase(plain.url('plants'))
})
afterAll(async () => {
  await secured?.remove()
  await plain?.remove()
})

/** Writes a file that only the user may read who runs a server. */
function giveFile(folder: string, name: string, text: string): void {
  const { uid, gid } = statSync(folder)
  writeFileSync(path.join(folder, name), text, { mode: 0o600 })
  chownSync(path.join(folder, name), uid, gid)
}

/** Opens a database, and returns that it is open, or the message of the error. */
async function open(url: string): Promise<string> {
  try {
    const database = await openDatabase(url)
    expect(await database.isEmpty().finally(database.close)).toBe(true)
    return 'open'
  } catch (error) {
    expect(error).toMatchObject({ name: 'DatabaseError' })
    return (error as Error).message
  }
}

const withUser = (userInfo: string, host: string, parameters = '') =>
  `postgresql://${userInfo}@${host}:${secured.port}/plants${parameters}`

describe('TLS', () => {
  test.each([
    ['disable', 'localhost', '', 'open'],
    ['require', 'localhost', '', 'open'],
    ['require', '127.0.0.1', 'ca.pem', 'open'],
    ['verify-ca', '127.0.0.1', 'ca.pem', 'open'],
    ['verify-full', 'localhost', 'ca.pem', 'open'],
    ['verify-full', '127.0.0.1', 'ca.pem', 'open'],
    ['verify-full', 'localhost', '', /cannot be reached over TLS: check sslmode and the certificates \(.*certificate/],
    ['verify-full', 'localhost', 'other-ca.pem', /cannot be reached over TLS: .*certificate/],
    ['verify-ca', 'localhost', 'other-ca.pem', /cannot be reached over TLS: .*certificate/],
    // As in libpq, a certificate authority that is named is used.
    ['require', 'localhost', 'other-ca.pem', /cannot be reached over TLS: .*certificate/],
    ['verify-full', 'localhost', 'missing.pem', /names the file \/.*missing\.pem as sslrootcert, .*\(ENOENT\)$/],
    ['verify-full', 'localhost', 'empty.pem', /names the file \/.*empty\.pem as sslrootcert, .*has no certificate/],
  ])('sslmode=%s to %s with "%s"', async (mode, host, ca, expected) => {
    const root = ca && `&sslrootcert=${parameter(ca)}`
    expect(await open(withUser('postgres', host, `?sslmode=${mode}${root}`))).toEqual(
      typeof expected === 'string' ? expected : expect.stringMatching(expected),
    )
  })

  test('is used: PostgreSQL sees an encrypted connection', async () => {
    const url = withUser('postgres', 'localhost', `?sslmode=verify-full&sslrootcert=${parameter('ca.pem')}`)
    const database = await openDatabase(url)
    await runSql(secured.url('postgres'), `DO $$ BEGIN ASSERT (SELECT count(*) > 0 FROM pg_stat_ssl WHERE ssl); END $$`)
    await database.close()
  })

  test('is demanded from a server without it', async () => {
    const url = plain.url('plants')
    expect(await open(`${url}?sslmode=require`)).toMatch(
      /cannot be reached over TLS: .*\(The server does not support SSL connections\)$/,
    )
  })

  test('authenticates a client by its certificate, and rejects one without', async () => {
    const tls = `?sslmode=verify-full&sslrootcert=${parameter('ca.pem')}`
    const certificate = `&sslcert=${parameter('client.pem')}&sslkey=${parameter('client-key.pem')}`
    expect(await open(withUser('gardener', 'localhost', tls + certificate))).toBe('open')
    expect(await open(withUser('gardener', 'localhost', tls))).toMatch(/rejects this user or password/)
    const swapped = `&sslcert=${parameter('ca.pem')}&sslkey=${parameter('client-key.pem')}`
    expect(await open(withUser('gardener', 'localhost', tls + swapped))).toMatch(
      /client-key\.pem as sslkey, which cannot be used \(.*MISMATCH\)$/,
    )
  })

  test('with a certificate for another name is rejected, in new connections of a running server too', async () => {
    const url = (mode: string) =>
      withUser('postgres', 'localhost', `?sslmode=${mode}&sslrootcert=${parameter('ca.pem')}`)
    const database = await openDatabase(url('verify-full'), { patience: 0 })
    const other = authority.issue('elsewhere.example')
    giveFile(secured.folder, 'host.pem', other.certificate)
    giveFile(secured.folder, 'host-key.pem', other.key)
    await runSql(secured.url('postgres'), 'SELECT pg_reload_conf()')
    await expect
      .poll(() => open(url('verify-full')))
      .toMatch(/cannot be reached over TLS: .*Host: localhost\. is not in the cert's altnames: DNS:elsewhere\.example/)
    expect(await open(url('verify-ca'))).toBe('open')

    await runSql(secured.url('postgres'), DISCONNECT)
    const unavailable = { fault: 'unavailable', message: expect.stringMatching(/unavailable/), retryAfter: 5 }
    await expect.poll(() => database.secret('any').catch(database.failure)).toEqual(unavailable)
    await expect.poll(() => database.plants.find([]).catch(database.failure)).toEqual(unavailable)
    expect(await database.whyUnavailable()).toMatch(
      /^The database cannot be reached over TLS: check sslmode and the certificates \(.*altnames/,
    )
    await database.close()
  })
})

/** Ends the connections to the database. */
const DISCONNECT = `
  SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'plants' AND pid <> pg_backend_pid()`

describe('a Unix socket', () => {
  test.each([
    ['as the parameter host', (folder: string, port: number) => `postgres@:${port}/plants?host=${folder}`],
    ['without a user', (folder: string, port: number) => `:${port}/plants?host=${folder}`],
    ['as an encoded host', (folder: string, port: number) => `postgres@${encodeURIComponent(folder)}:${port}/plants`],
  ])('%s', async (_, write) => {
    vi.stubEnv('PGUSER', 'postgres')
    expect(await open(`postgresql://${write(socketFolder, plain.port)}`)).toBe('open')
    vi.unstubAllEnvs()
  })
})

describe('a password with special characters', () => {
  afterEach(() => {
    vi.unstubAllEnvs()
  })

  test.each(['secretive', 'outdated'])('of %s, percent-encoded', async (user) => {
    expect(await open(withUser(`${user}:${encodeURIComponent(PASSWORD)}`, '127.0.0.1'))).toBe('open')
    // A password that needs no percent-encoding by the WHATWG is written as it is.
    expect(
      await open(withUser(`${user}:${encodeURI(PASSWORD).replace(/[/?#]/g, encodeURIComponent)}`, '127.0.0.1')),
    ).toBe('open')
  })

  test('in PGPASSWORD', async () => {
    vi.stubEnv('PGPASSWORD', PASSWORD)
    expect(await open(withUser('secretive', '127.0.0.1'))).toBe('open')
  })

  test('in the password file', async () => {
    const escaped = PASSWORD.replace(/[\\:]/g, '\\$&')
    const lines = [
      '# a comment',
      `127.0.0.1:${secured.port}:plants:other:nonsense`,
      `127.0.0.1:${secured.port}:*:secretive:${escaped}`,
      '*:*:*:*:nonsense',
    ]
    writeFileSync(file('pgpass'), lines.join('\n'), { mode: 0o600 })
    vi.stubEnv('PGPASSFILE', file('pgpass'))
    expect(await open(withUser('secretive', '127.0.0.1'))).toBe('open')
    expect(await open(withUser('outdated', '127.0.0.1'))).toMatch(/rejects this user or password/)
    chmodSync(file('pgpass'), 0o644)
    expect(await open(withUser('secretive', '127.0.0.1'))).toMatch(/pgpass can be read by others: run chmod 600 on it$/)
  })

  test('that is wrong or missing is rejected promptly', async () => {
    vi.stubEnv('PGPASSFILE', file('none'))
    const begin = performance.now()
    for (const userInfo of ['secretive:wrong', 'secretive', 'outdated:wrong', 'outdated']) {
      const message = await open(withUser(userInfo, '127.0.0.1'))
      expect(message).toMatch(/rejects this user or password: check DATABASE_URL, PGPASSWORD or ~\/\.pgpass/)
    }
    expect(performance.now() - begin).toBeLessThan(8_000)
  })
})

test('a role that may not read a table is rejected with a sentence', async () => {
  await runSql(plain.url('plants'), 'CREATE ROLE sower LOGIN; GRANT ALL ON "Plant", "Edits", "Plant_seq_seq" TO sower')
  const url = plain.url('plants').replace('postgres@', 'sower@')
  expect(await open(url)).toMatch(
    /does not allow this user to do that \(permission denied for table Token\): run it as the owner of the database, or GRANT/,
  )
})
