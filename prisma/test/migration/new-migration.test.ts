/** What a change of the schema or of an operation needs besides, which commands write. */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { deriveSchema } from '../../prisma-cli/migration.ts'
import { plantRights } from '../../src/plants.ts'
import { copyPackage, packageFolder, run } from '../helpers/run.ts'

const read = (file: string, folder = packageFolder) => readFileSync(path.join(folder, file), 'utf8')

test('the schema of PostgreSQL has the models of the one of SQLite, and rights.sql the rights of operations', () => {
  const derived = deriveSchema(read('schema.prisma'))
  expect(read('postgresql/schema.prisma'), 'run npm run migration').toBe(derived)
  const granted = /^GRANT (.*) ON "Plant" TO/m.exec(read('../docs/production/several-machines/rights.sql'))?.[1]
  expect(granted, 'run npm run generate').toBe(['SELECT', 'INSERT', ...plantRights].join(', '))
})

test.runIf(isLong)('npm run migration writes both migrations under one name, of what has changed', async () => {
  const folder = copyPackage()
  const schema = path.join(folder, 'schema.prisma')
  const change = (from: string, to: string) => writeFileSync(schema, readFileSync(schema, 'utf8').replace(from, to))
  const write = async (...name: string[]) => {
    const { stdout, stderr } = await run(process.execPath, ['prisma-cli/migration.ts', ...name], { cwd: folder })
    const files = stdout.split('\n').filter((line) => line.endsWith('migration.sql'))
    const names = files.map((file) => path.basename(path.dirname(file)))
    expect(new Set(names).size).toBe(name.length)
    for (const each of names) expect(each).toMatch(new RegExp(`^\\d{14}_${name}$`))
    return [stderr, ...files.map((file) => read(path.join('..', file), folder))]
  }
  change('createdAt', '/// More.\n  ofTest String?\n  createdAt')
  change('@@index([account, seq])', '$&\n  @@index([account, ofTest]) // SQLite: PostgreSQL has another.')
  const add = (space: string) => `-- AlterTable\nALTER TABLE "Plant" ADD COLUMN ${space}"ofTest" TEXT;\n`
  const index = '\n-- CreateIndex\nCREATE INDEX "Plant_account_ofTest_idx" ON "Plant"("account", "ofTest");\n'
  expect(await write('of_test')).toEqual(['', add('') + index, add('    ')])
  const empty = '-- This is an empty migration.\n'
  expect(await write('by_hand')).toEqual(['', empty, empty])
  // Without a name, only what needs no migration.
  change('More', 'Less')
  expect(await write()).toEqual([''])
  expect(read('postgresql/schema.prisma', folder)).toMatch(
    /\/\/\/ Less\.\n {2}ofTest String\?\n(?!.*@@index\(\[account, ofTest)/s,
  )
  change('ofTest String', 'ofTest Int')
  expect(await write()).toEqual(['Name the migration: npm run migration -- add_height\n'])
})
