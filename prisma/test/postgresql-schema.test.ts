import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const SQLITE = fileURLToPath(new URL('../schema.prisma', import.meta.url))
const POSTGRESQL = fileURLToPath(new URL('../postgresql/schema.prisma', import.meta.url))

/** Derives the schema of PostgreSQL: the same models, with the types that its columns have. */
function derive(schema: string): string {
  const lines = schema
    .replace(
      /^.*\n/,
      '// Derived from ../schema.prisma: `npx vitest run prisma/test/postgresql-schema -u` writes it.\n',
    )
    .replace('"src/generated/sqlite"', '"../src/generated/postgresql"')
    .replace('provider = "sqlite"', 'provider = "postgresql"')
    .split('\n')
    .filter((line) => !/^ *\/\/ SQLite: /.test(line))
    .map((line) => line.replace(/^( +\w+ +)Int\b( *)/, '$1BigInt$2').replace(/ DateTime\b.*$/, '$& @db.Timestamptz(3)'))
  return lines.join('\n')
}

/** Spaces only align columns. */
const words = (text: string) => text.replaceAll(/ +/g, ' ')

test('the schema of PostgreSQL has the models of the one of SQLite', async () => {
  const current = readFileSync(POSTGRESQL, 'utf8')
  const derived = derive(readFileSync(SQLITE, 'utf8'))
  if (words(derived) === words(current)) return
  await expect(derived).toMatchFileSnapshot(POSTGRESQL)
})
