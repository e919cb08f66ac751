/** The command copy: what is copied is in prisma/test/copy.test.ts. */
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { createMigrated, openConnection } from '../../../test/helpers/database/databases.ts'
import { countPlants, createWithPlants, startEngines } from '../../../test/helpers/database/stored-rows.ts'
import { collect, until } from '../../../test/helpers/programs.ts'
import { spawnCommand } from '../../../test/helpers/server/run-command.ts'
import { runInProcess } from '../helpers/commands/run-in-process.ts'

const newUrl = await startEngines()

test('the side that is left out is DATABASE_URL, and what was copied is said', async () => {
  const source = await createWithPlants(newUrl.SQLite(), 2)
  const target = await createMigrated(newUrl.PostgreSQL())
  const { exitCode, stdout } = await runInProcess(['copy', '--to', target], { DATABASE_URL: source })
  expect(exitCode).toBe(0)
  expect(stdout).toMatch(/^The database "copy\d+" at 127.0.0.1:\d+ is now a copy of \/\S+: 2 plants and 0 tokens\b/)
  expect(await countPlants(target)).toBe(2)
})

test('Ctrl+C ends a copy soon and leaves the target empty; a password is in no output', async () => {
  const source = await createWithPlants(newUrl.SQLite(), 10)
  const target = await createMigrated(newUrl.PostgreSQL())
  // The first plant cannot be inserted.
  const other = await openConnection(target)
  await other.run('BEGIN; LOCK TABLE "Plant" IN EXCLUSIVE MODE')
  const withPassword = target.replace('postgres@', 'postgres:geheim@')
  const child = spawnCommand(['copy', `--from=${source}`, '--to', withPassword])
  const closed = once(child, 'close')
  const output = collect(child.stdout, child.stderr)
  await until(async () => (await other.query('SELECT 1 FROM pg_locks WHERE NOT granted')).length > 0)
  child.kill('SIGINT')
  expect(await closed).toEqual([130, null])
  await other.close()
  expect(await countPlants(target)).toBe(0)
  expect(output()).not.toContain('geheim')
})

test.each<[command: string, message: RegExp]>([
  ['copy', /^plant-store: name the source with --from or the target with --to; /],
  ['copy --to plants.db', /^plant-store: --to does not start with "file:" or "postgresql:"/],
  ['copy --from postgresql://ann:ge/heim@127.0.0.1/x', /^plant-store: --from is not a URL of one host: /],
])('%s is a usage error that shows no password', async (command, message) => {
  const { exitCode, stdout, stderr } = await runInProcess(command.split(' '))
  expect([exitCode, stdout]).toEqual([2, ''])
  expect(stderr).toMatch(message)
  expect(stderr).not.toMatch(/ge\/?heim/)
})
