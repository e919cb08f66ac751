/** The Prisma command line, which reaches databases of both engines through our schema engine. */
import { appendFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { query, runSql } from '../../../test/helpers/database/databases.ts'
import { type Finished, until } from '../../../test/helpers/programs.ts'
import { temporaryDatabase } from '../../../test/helpers/temporary.ts'
import { openDatabase } from '../../src/database.ts'
import { migrateDatabase } from '../../src/index.ts'
import { engines, newPostgresqlDatabase, newRole, shadowDatabases } from '../helpers/engines.ts'
import { commandLines, copyPackage, prismaCommand, run, runPrisma } from '../helpers/run.ts'

/** Those that wait for the lock on migrations. */
const WAITING = `
  SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = 'advisory'`

describe.each(engines)('on $engine', ({ engine, newDatabase }) => {
  const folder = engine === 'sqlite' ? '.' : 'postgresql'
  const [schema, migrations] = [path.join(folder, 'schema.prisma'), path.join(folder, 'migrations')]

  test('migrate status and deploy accept what the server has migrated, and reset changes nothing', async () => {
    const { url, name, createEmpty } = await newDatabase()
    const status = async () => {
      const { exitCode, stdout, stderr } = await runPrisma(['migrate', 'status'], url)
      return [exitCode, stdout + stderr]
    }
    const missing = await status()
    expect(missing).toEqual([1, expect.stringMatching(/P100[13]: .* does not exist/)])
    expect(missing).toEqual([1, expect.stringContaining(name)])
    await createEmpty()
    expect(await status()).toEqual([1, expect.stringContaining('have not yet been applied')])

    await migrateDatabase(url)
    expect(await status()).toEqual([0, expect.stringContaining('Database schema is up to date!')])
    expect((await runPrisma(['migrate', 'deploy'], url)).stdout).toContain('No pending migrations to apply')
    await runSql(url, `INSERT INTO "Plant" ("account", "id", "name") VALUES ('alice', '1', 'Monstera')`)

    const reset = await runPrisma(['migrate', 'reset', '--force'], url)
    expect(reset).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('Not supported here: drop the database'),
    })
    expect(await query(url, 'SELECT "id" FROM "Plant"')).toEqual([{ id: '1' }])
  })

  test('the migrations match the schema', async () => {
    const { url, createEmpty } = await newDatabase()
    await createEmpty()
    const compare = (...to: string[]) =>
      runPrisma(['migrate', 'diff', '--from-migrations', migrations, ...to, '--exit-code'], url)
    const { exitCode, stdout } = await compare('--to-schema', schema)
    expect(stdout).toContain('No difference detected')
    expect(exitCode).toBe(0)
    // The comparison would find one.
    expect(await compare('--to-empty')).toMatchObject({ exitCode: 2, stdout: expect.stringContaining('Plant') })
    if (engine === 'postgresql') expect(await shadowDatabases()).toEqual([])
  })

  // `migrate dev` needs a terminal; script(1) of util-linux provides one.
  test.skipIf(process.platform !== 'linux' || !existsSync('/usr/bin/script'))(
    'migrate dev writes and applies a migration for a change of the schema, once',
    async () => {
      const { url, createEmpty } = await newDatabase()
      await createEmpty()
      const cwd = copyPackage()
      appendFileSync(path.join(cwd, schema), '\nmodel Pot {\n  id Int @id\n  size Int\n}\n')
      const before = readdirSync(path.join(cwd, migrations))
      await migrateDatabase(url)

      const first = await runDev(url, cwd)
      expect(first).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Your database is now in sync') })
      expect(await query(url, 'SELECT * FROM "Pot"')).toEqual([])
      const added = readdirSync(path.join(cwd, migrations)).filter((name) => !before.includes(name))
      expect(added).toEqual([expect.stringMatching(/^\d{14}_pots$/)])
      expect(await runDev(url, cwd)).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Already in sync') })
      const { plants, close } = await openDatabase(url)
      onTestFinished(close)
      expect(await plants.create([{ account: 'bob', id: '1', name: 'Ficus', tag: null }])).toEqual(['stored'])
      if (engine === 'postgresql') expect(await shadowDatabases()).toEqual([])
    },
  )
})

/** Runs `migrate dev` in a terminal. */
function runDev(url: string, cwd: string): Promise<Finished> {
  const command = `'${process.execPath}' '${prismaCommand}' migrate dev --name pots`
  const env = { ...process.env, DATABASE_URL: url }
  return run('/usr/bin/script', ['-qec', command, '/dev/null'], { cwd, env })
}

test('a migration of a SQLite file beside a running server says to stop it, and works once it has', async () => {
  const { url } = temporaryDatabase()
  await migrateDatabase(url)
  const cwd = copyPackage()
  mkdirSync(`${cwd}/migrations/90000101000000_pots`)
  writeFileSync(`${cwd}/migrations/90000101000000_pots/migration.sql`, 'CREATE TABLE "Pot" (size INTEGER);')
  const deploy = () => runPrisma(['migrate', 'deploy'], url, cwd)

  const { close } = await openDatabase(url)
  const { exitCode, stderr } = await deploy()
  expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringContaining('is in use: stop the server') })
  expect(stderr).not.toMatch(/wasm/i)
  await close()
  expect(await deploy()).toMatchObject({ exitCode: 0 })
})

test('DATABASE_URL is read from .env at the root of the repository, and the environment wins', async () => {
  const cwd = copyPackage()
  const root = path.dirname(cwd)
  const inFile = temporaryDatabase()
  // A folder with this file is a repository.
  writeFileSync(path.join(root, 'pnpm-workspace.yaml'), '')
  writeFileSync(path.join(root, '.env'), `DATABASE_URL=file:./data/from-dotenv.db\n`)
  const { DATABASE_URL: _, ...environment } = process.env
  const status = (env: NodeJS.ProcessEnv) => run(process.execPath, [prismaCommand, 'migrate', 'status'], { cwd, env })
  expect((await status(environment)).stderr).toContain(`does not exist at ${root}/data/from-dotenv.db`)
  expect((await status({ ...environment, DATABASE_URL: inFile.url })).stderr).toContain(`not exist at ${inFile.file}`)
})

test('a pooler, which would keep locks, gets a sentence', async () => {
  const { url, createEmpty } = await newPostgresqlDatabase()
  await createEmpty()
  const stderr = expect.stringContaining('cannot go through a pooler: name')
  expect(await runPrisma(['migrate', 'status'], `${url}?pgbouncer=true`)).toMatchObject({ exitCode: 1, stderr })
})

test('migrate deploy and a starting server wait for each other, and no argument or output has a password', async () => {
  const { url, createEmpty, lock } = await newPostgresqlDatabase()
  await createEmpty()
  const { password, as } = await newRole('keeper', 'SUPERUSER')
  const unlock = await lock()
  const both = Promise.all([runPrisma(['migrate', 'deploy'], as(url)), migrateDatabase(as(url))])
  await until(async () => (await query(url, WAITING)).length === 2)
  const running = commandLines()
  await unlock()

  const [{ exitCode, stdout, stderr }] = await both
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.not.stringContaining('rror') })
  const engine = running.filter((line) => line.includes('schema-engine.js') && line.includes(new URL(url).pathname))
  expect(engine).toHaveLength(process.platform === 'linux' ? 1 : 0)
  for (const secret of [password, encodeURIComponent(password)]) {
    expect(running.filter((line) => line.includes(secret))).toEqual([])
    expect(stdout + stderr).not.toContain(secret)
  }
})
