/** Runs the commands of docs/production/several-machines with the programs of an installed PostgreSQL. */
import { chmodSync, chownSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import { openDatabase } from '@plant-store/prisma'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { query, runSql } from './helpers/database/databases.ts'
import {
  debianPrograms,
  type PostgresqlServer,
  postgresqlUser,
  startPostgresql,
} from './helpers/database/postgresql.ts'
import { requireInCi } from './helpers/long-tests.ts'
import { codeBlock, readGuide, shell } from './helpers/production/guide.ts'
import { startTestServer } from './helpers/server/start-test-server.ts'
import { temporaryFolder } from './helpers/temporary-folder.ts'
import { until } from './helpers/until.ts'

const guide = readGuide('several-machines/README.md')
requireInCi('PostgreSQL with pg_basebackup', debianPrograms)
if (!debianPrograms) console.log('Backups of PostgreSQL are not run: that of Debian is not installed.')

describe.runIf(debianPrograms)('the commands of the guide', { timeout: 120_000 }, () => {
  const folder = temporaryFolder()
  const archive = path.join(folder, 'archive')
  const backups = path.join(folder, 'backups')
  let postgresql: PostgresqlServer
  beforeAll(async () => {
    chmodSync(folder, 0o755)
    for (const each of [archive, backups]) {
      mkdirSync(each)
      chownSync(each, postgresqlUser.uid ?? process.getuid?.() ?? 0, postgresqlUser.gid ?? process.getgid?.() ?? 0)
    }
    const settings = codeBlock(guide, 'Back up', 0, 'ini').matchAll(/^(\w+) = '?(.*?)'?$/gm)
    const archiving = Object.fromEntries([...settings].map(([, name = '', value = '']) => [name, here(value)]))
    expect(Object.keys(archiving)).toContain('archive_command')
    postgresql = await startPostgresql({ settings: archiving })
    await asPostgres(codeBlock(guide, 'Create the database', 0).replaceAll('--pwprompt ', ''))
    await asOperator(codeBlock(guide, 'Create the database', 1))
  })
  afterAll(() => postgresql.remove())

  /** Replaces the guide's folders and today's date. */
  function here(text: string): string {
    return text
      .replaceAll('/var/lib/postgresql/archive', archive)
      .replaceAll('/var/lib/postgresql/15/main', postgresql?.folder)
      .replaceAll('/var/lib/postgresql/15/before-', `${postgresql?.folder}-before-`)
      .replaceAll('/var/backups/plant-store', backups)
      .replaceAll('2026-11-21.dump', '$(date +%F).dump')
      .replaceAll('base-2026-11-21', 'base-$(date +%F)')
      .replaceAll('10.0.0.20', `127.0.0.1:${postgresql?.port}`)
      .replaceAll('plant-store-1.0.0/dist', 'server/dist')
      .replaceAll('plant-store-1.0.0/production', 'docs/production')
  }

  /** Runs commands as the user that runs PostgreSQL, on its machine. */
  function asPostgres(script: string): Promise<string> {
    const env = { PATH: `${debianPrograms}:${process.env['PATH']}`, PGHOST: '127.0.0.1', PGUSER: 'postgres' }
    return shell(here(script), { ...postgresqlUser, cwd: folder, env: { ...env, PGPORT: String(postgresql.port) } })
  }

  /** Runs commands in the repository. */
  function asOperator(script: string, environment: Record<string, string> = {}): Promise<string> {
    return shell(here(script), {
      env: { ...process.env, PATH: `${debianPrograms}:${process.env['PATH']}`, ...environment },
    })
  }

  const serverUrl = () => postgresql.url('plants').replace('postgres@', 'plant_store@')

  /** Reads what the metrics of a server show, as the role of the servers. */
  async function readLastBackup(): Promise<number | undefined> {
    const { state, close } = await openDatabase(serverUrl())
    return (await state().finally(close)).lastBackup
  }

  /** Starts a server, creates plants with a token that the guide creates, and returns what it lists. */
  async function createAndList(token: string, names: readonly string[]): Promise<string[]> {
    await using server = await startTestServer({ databaseUrl: serverUrl() })
    for (const name of names) {
      const body = JSON.stringify({ id: Math.floor(Math.random() * 2 ** 50), name })
      expect((await server.post(body, { token })).status).toBe(200)
    }
    const plants = (await (await server.call('/plants', { token })).json()) as { name: string }[]
    return plants.map(({ name }) => name)
  }

  async function createToken(): Promise<string> {
    const command = codeBlock(guide, 'Install the servers', 1).replace('plant-store ', 'node server/dist/main.js ')
    return (await asOperator(command, { DATABASE_URL: postgresql.url('plants') })).trim()
  }

  test('a restored dump has what was dumped, and takes new plants', async () => {
    await runSql(postgresql.url('plants'), 'TRUNCATE "Plant"')
    const token = await createToken()
    expect(await createAndList(token, ['first', 'second'])).toEqual(['first', 'second'])
    expect(await readLastBackup()).toBe(0)
    const before = Math.floor(Date.now() / 1_000)
    await asPostgres(codeBlock(guide, 'Back up', 0))
    expect(await readLastBackup()).toBeGreaterThanOrEqual(before)
    expect(await createAndList(token, ['lost'])).toEqual(['first', 'second', 'lost'])
    // Twice: the second restore must not stop at the database that the first has put away, named by the second.
    for (const name of ['third', 'fourth']) {
      await asPostgres(codeBlock(guide, 'Restore a dump', 0))
      await asPostgres(`sleep 1\n${codeBlock(guide, 'Restore a dump', 1)}`)
      expect(await createAndList(token, [])).toEqual(['first', 'second'])
      expect(await readLastBackup()).toBe(0)
      expect(await createAndList(token, [name])).toEqual(['first', 'second', name])
    }
  })

  test('a restored point in time has the plants from before a mistake', async () => {
    await runSql(postgresql.url('plants'), 'TRUNCATE "Plant"')
    const token = await createToken()
    expect(await createAndList(token, ['in the base backup'])).toHaveLength(1)
    await asPostgres(codeBlock(guide, 'Back up', 1))
    expect(await createAndList(token, ['in the archive'])).toHaveLength(2)
    const [moment] = await query<{ time: string }>(
      postgresql.url('plants'),
      'SELECT clock_timestamp()::text AS time, pg_sleep(0.1)',
    )
    await runSql(postgresql.url('plants'), 'DELETE FROM "Plant"')
    await runSql(postgresql.url('plants'), 'SELECT pg_switch_wal()')
    const archived = () =>
      query<{ is: boolean }>(
        postgresql.url('plants'),
        'SELECT last_archived_wal >= pg_walfile_name(pg_current_wal_lsn() - 1) AS is FROM pg_stat_archiver',
      )
    await until(async () => (await archived())[0]?.is === true, 60_000)

    await postgresql.stop()
    await asPostgres(
      codeBlock(guide, 'Restore a point in time', 0).replace(/(recovery_target_time = )'.*'/, `$1'${moment?.time}'`),
    )
    await postgresql.start()
    expect(await createAndList(token, ['after'])).toEqual(['in the base backup', 'in the archive', 'after'])
  })
})
