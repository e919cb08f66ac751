import { appendFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { migrateDatabase, openDatabase } from '../../src/index.ts'
import { engines, shadowDatabases, type TestDatabase } from '../helpers/engines.ts'
import { copyPackage, type Finished, prismaCommand, run, runPrisma } from '../helpers/run.ts'

// A command takes a second or two, and several on a busy machine.
vi.setConfig({ testTimeout: 180_000 })

const INSERT = `INSERT INTO "Plant" ("account", "id", "name") VALUES ('alice', '1', 'Monstera')`

describe.each(engines)('on $engine', ({ engine, newDatabase }) => {
  const folder = engine === 'sqlite' ? '.' : 'postgresql'
  const [schema, migrations] = [path.join(folder, 'schema.prisma'), path.join(folder, 'migrations')]

  test('migrate status distinguishes a missing, a new and a migrated database', async () => {
    const database = await newDatabase()
    const status = () => runPrisma(['migrate', 'status'], database.url)
    const missing = await status()
    expect(missing.code).toBe(1)
    expect(missing.stderr).toMatch(/P1003: .* does not exist/)
    expect(missing.stderr).toContain(database.name)

    await database.createEmpty()
    expect(await status()).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('have not yet been applied'),
    })

    await migrateDatabase(database.url)
    expect(await status()).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Database schema is up to date!'),
    })
  })

  test('migrate deploy creates the same database as the server', async () => {
    const [deployed, migrated] = [await newDatabase(), await newDatabase()]
    expect(await runPrisma(['migrate', 'deploy'], deployed.url)).toMatchObject({ code: 0 })
    await migrateDatabase(migrated.url)

    expect(await deployed.definitions()).toEqual(await migrated.definitions())
    expect(await migrateDatabase(deployed.url)).toEqual({ applied: [] })
  })

  test('migrate deploy notes a migration that fails, until it is resolved', async () => {
    const database = await newDatabase()
    const cwd = copyPackage()
    const prisma = (...args: string[]) => runPrisma(args, database.url, cwd)
    const broken = path.join(cwd, migrations, '90000101000000_broken')
    mkdirSync(broken)
    const script = path.join(broken, 'migration.sql')
    writeFileSync(script, 'CREATE TABEL "Pot" (size INTEGER);')

    expect(await prisma('migrate', 'deploy')).toMatchObject({ code: 1, stderr: expect.stringContaining('TABEL') })
    await expect(migrateDatabase(database.url, path.join(cwd, migrations))).rejects.toThrow(
      /incomplete because the migration 90000101000000_broken was interrupted: .*migrate resolve/,
    )

    expect(await prisma('migrate', 'resolve', '--rolled-back', '90000101000000_broken')).toMatchObject({ code: 0 })
    writeFileSync(script, 'CREATE TABLE "Pot" (size INTEGER);')
    expect(await prisma('migrate', 'deploy')).toMatchObject({ code: 0 })
    expect(await database.query('SELECT * FROM "Pot"')).toEqual([])
  })

  test('migrate reset empties a database that the server created', async () => {
    const database = await newDatabase()
    await migrateDatabase(database.url)
    const before = await database.definitions()
    await database.run(INSERT)
    await database.run('CREATE VIEW "Names" AS SELECT "name" FROM "Plant"')

    expect(await runPrisma(['migrate', 'reset', '--force'], database.url)).toMatchObject({ code: 0 })
    expect(await database.definitions()).toEqual(before)
    expect(await migrateDatabase(database.url)).toEqual({ applied: [] })
    await expectToWork(database)
  })

  test.runIf(engine === 'sqlite')(
    'a migration beside a running server says to stop it, and works once it has',
    async () => {
      const database = await newDatabase()
      await migrateDatabase(database.url)
      const cwd = copyPackage()
      const added = path.join(cwd, migrations, '90000101000000_pots')
      mkdirSync(added)
      writeFileSync(path.join(added, 'migration.sql'), 'CREATE TABLE "Pot" (size INTEGER);')
      const deploy = () => runPrisma(['migrate', 'deploy'], database.url, cwd)

      const { close } = await openDatabase(database.url)
      const { code, stderr } = await deploy()
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('is in use: stop the server') })
      expect(stderr).not.toMatch(/wasm/i)
      await close()
      expect(await deploy()).toMatchObject({ code: 0 })
    },
  )

  test('the migrations match the schema', async () => {
    const { url } = await newDatabase()
    const compare = (...to: string[]) =>
      runPrisma(['migrate', 'diff', '--from-migrations', migrations, ...to, '--exit-code'], url)
    const { code, stdout } = await compare('--to-schema', schema)
    expect(stdout).toContain('No difference detected')
    expect(code).toBe(0)
    // The comparison would find one.
    expect(await compare('--to-empty')).toMatchObject({ code: 2, stdout: expect.stringContaining('Plant') })
  })

  // `migrate dev` needs a terminal; script(1) of util-linux provides one.
  test.skipIf(process.platform !== 'linux' || !existsSync('/usr/bin/script'))(
    'migrate dev writes and applies a migration for a change of the schema, once',
    async () => {
      const database = await newDatabase()
      const cwd = copyPackage()
      appendFileSync(path.join(cwd, schema), '\nmodel Pot {\n  id Int @id\n  size Int\n}\n')
      const before = readdirSync(path.join(cwd, migrations))

      const first = await runDev(database.url, cwd)
      expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining('Your database is now in sync') })
      expect(await database.query('SELECT * FROM "Pot"')).toEqual([])
      const added = readdirSync(path.join(cwd, migrations)).filter((name) => !before.includes(name))
      expect(added).toEqual([expect.stringMatching(/^\d{14}_pots$/)])
      expect(await runDev(database.url, cwd)).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('Already in sync'),
      })
      await expectToWork(database)
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

/** Expects that a server can open the database and insert. */
async function expectToWork({ url }: TestDatabase): Promise<void> {
  const { plants, close } = await openDatabase(url)
  onTestFinished(close)
  expect(await plants.insert([{ account: 'bob', id: '1', name: 'Ficus', tag: null }])).toBe(1)
}
