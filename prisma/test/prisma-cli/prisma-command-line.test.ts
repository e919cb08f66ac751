import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test, vi } from 'vitest'
import { temporaryDatabase } from '../../../test/helpers/temporary-folder.ts'
import { copyPackage, prismaCommand, run, runPrisma } from '../helpers/run.ts'

// A command takes a second or two, and several on a busy machine.
vi.setConfig({ testTimeout: 120_000 })

test.each([
  ['schema.prisma', temporaryDatabase().url],
  ['postgresql/schema.prisma', 'postgresql://127.0.0.1/plants'],
])('validate accepts %s, which DATABASE_URL chooses', async (schema, url) => {
  const { code, stdout } = await runPrisma(['validate'], url)
  expect(stdout).toContain(`The schema at ${schema} is valid`)
  expect(code).toBe(0)
})

test.each([
  ['sqlite', temporaryDatabase().url],
  ['postgresql', 'postgresql://127.0.0.1:1/plants'],
])('generate for %s in a fresh clone needs no database and compiles nothing', async (engine, url) => {
  const cwd = copyPackage()
  const { code, stdout } = await runPrisma(['generate', '--no-hints'], url, cwd)
  expect(stdout).toContain('Generated Prisma Client')
  expect(code).toBe(0)
  expect(readdirSync(path.join(cwd, 'src/generated'))).toEqual([engine])
  expect(existsSync(path.join(cwd, '../data'))).toBe(false)
})

test('an invalid DATABASE_URL is reported in one line by the commands that need it', async () => {
  const { code, stderr } = await runPrisma(['migrate', 'status'], 'mysql://localhost/plants')
  expect(stderr).toContain('DATABASE_URL does not start with "file:" or "postgresql:"')
  expect(code).toBe(1)
  expect(await runPrisma(['validate'], 'mysql://localhost/plants')).toMatchObject({ code: 0 })
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
