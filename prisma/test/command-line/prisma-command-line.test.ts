import { cpSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { query, runSql } from '../../../test/helpers/database/sqlite.ts'
import { temporaryDatabase, temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { migrateDatabase } from '../../src/index.ts'
import { packageFolder, prismaCommand, run, runPrisma } from '../helpers/run.ts'

test('validate accepts the schema', async () => {
  const { code, stdout } = await runPrisma(['validate'], temporaryDatabase().url)
  expect(stdout).toContain('is valid')
  expect(code).toBe(0)
})

test('generate in a fresh clone needs no database and compiles nothing', async () => {
  const cwd = path.join(copyOfThePackage(), 'prisma')
  const { url, file } = temporaryDatabase()
  const env = { ...process.env, DATABASE_URL: url }
  const { code, stdout } = await run(process.execPath, [prismaCommand, 'generate', '--no-hints'], { cwd, env })
  expect(stdout).toContain('Generated Prisma Client')
  expect(code).toBe(0)
  expect(existsSync(path.join(cwd, 'src/generated/sqlite/client.ts'))).toBe(true)
  expect(existsSync(file)).toBe(false)
})

test('migrate status distinguishes a missing, a new and a migrated database', async () => {
  const { url, file } = temporaryDatabase()
  expect(await runPrisma(['migrate', 'status'], url)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`Database \`plants.db\` does not exist at ${file}`),
  })

  writeFileSync(file, '')
  expect(await runPrisma(['migrate', 'status'], url)).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('have not yet been applied'),
  })

  await migrateDatabase(url)
  expect(await runPrisma(['migrate', 'status'], url)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Database schema is up to date!'),
  })
})

test('migrate deploy creates the same database as the server', async () => {
  const deployed = temporaryDatabase()
  const migrated = temporaryDatabase()
  expect(await runPrisma(['migrate', 'deploy'], deployed.url)).toMatchObject({ code: 0 })
  await migrateDatabase(migrated.url)

  const definitions = 'SELECT sql FROM sqlite_schema ORDER BY name'
  expect(query(deployed.file, definitions)).toEqual(query(migrated.file, definitions))
  expect(statSync(deployed.file).mode).toBe(statSync(migrated.file).mode)
  expect(await migrateDatabase(deployed.url)).toEqual({ applied: [] })
})

test('migrate reset empties a database that the server created', async () => {
  const { url, file } = temporaryDatabase()
  await migrateDatabase(url)
  runSql(
    file,
    `INSERT INTO Plant (account, id, name) VALUES ('alice', '1', 'Monstera'); CREATE VIEW Names AS SELECT name FROM Plant`,
  )

  expect(await runPrisma(['migrate', 'reset', '--force'], url)).toMatchObject({ code: 0 })
  expect(query(file, 'SELECT * FROM Plant')).toEqual([])
  expect(query(file, `SELECT name FROM sqlite_schema WHERE type = 'view'`)).toEqual([])
  expect(await migrateDatabase(url)).toEqual({ applied: [] })
})

test('an invalid DATABASE_URL is reported in one line by the commands that need it', async () => {
  const { code, stderr } = await runPrisma(['migrate', 'status'], 'mysql://localhost/plants')
  expect(stderr).toContain('DATABASE_URL does not start with "file:" or "postgresql:"')
  expect(code).toBe(1)
  expect(await runPrisma(['validate'], 'mysql://localhost/plants')).toMatchObject({ code: 0 })
})

test('studio reports a missing database in one line and does not create it', async () => {
  const { url, file } = temporaryDatabase()
  expect(await runPrisma(['studio', '--browser', 'none'], url)).toEqual({
    code: 1,
    stdout: '',
    stderr: `${file} does not exist yet: start the server once, or run \`npm run prisma -- migrate deploy\`.\n`,
  })
  expect(existsSync(file)).toBe(false)
})

test('DATABASE_URL is read from .env at the root of the repository, and the environment wins', async () => {
  const root = copyOfThePackage()
  const inFile = temporaryDatabase()
  writeFileSync(path.join(root, '.env'), `DATABASE_URL=file:./data/from-dotenv.db\n`)
  const { DATABASE_URL: _, ...environment } = process.env
  const status = (env: NodeJS.ProcessEnv) =>
    run(process.execPath, [prismaCommand, 'migrate', 'status'], { cwd: path.join(root, 'prisma'), env })

  expect((await status(environment)).stderr).toContain(`does not exist at ${root}/data/from-dotenv.db`)
  expect((await status({ ...environment, DATABASE_URL: inFile.url })).stderr).toContain(`not exist at ${inFile.file}`)
})

// `migrate dev` needs a terminal; script(1) of util-linux provides one.
describe.skipIf(process.platform !== 'linux' || !existsSync('/usr/bin/script'))('migrate dev', () => {
  test('writes and applies a migration for a change of the schema, once', async () => {
    const root = copyOfThePackage()
    const cwd = path.join(root, 'prisma')
    const { url, file } = temporaryDatabase()
    const schema = path.join(cwd, 'schema.prisma')
    writeFileSync(schema, `${readFileSync(schema, 'utf8')}\nmodel Pot {\n  id Int @id\n  size Int\n}\n`)

    const command = `'${process.execPath}' '${prismaCommand}' migrate dev --name pots`
    const dev = () =>
      run('/usr/bin/script', ['-qec', command, '/dev/null'], { cwd, env: { ...process.env, DATABASE_URL: url } })

    expect(await dev()).toMatchObject({ code: 0, stdout: expect.stringContaining('Your database is now in sync') })
    expect(query(file, 'SELECT * FROM Pot')).toEqual([])
    expect(await dev()).toMatchObject({ code: 0, stdout: expect.stringContaining('Already in sync') })
  })
})

/** Creates a repository with only this package, which a test may change. */
function copyOfThePackage(): string {
  const root = temporaryFolder()
  const folder = path.join(root, 'prisma')
  const skipped = ['node_modules', 'dist', 'generated']
  cpSync(packageFolder, folder, { recursive: true, filter: (each) => !skipped.includes(path.basename(each)) })
  cpSync(path.join(packageFolder, '../tsconfig.base.json'), path.join(root, 'tsconfig.base.json'))
  symlinkSync(path.join(packageFolder, 'node_modules'), path.join(folder, 'node_modules'))
  return root
}
