/** The command copy: what is copied is in prisma/test/copy.test.ts. */
import { once } from 'node:events'
import { expect, test } from 'vitest'
import {
  newDatabase,
  openConnection,
  query,
  runSql,
  sharedPostgresql,
} from '../../../test/helpers/database/databases.ts'
import { collect, until } from '../../../test/helpers/programs.ts'
import { spawnCommand } from '../../../test/helpers/server/run-command.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { runInProcess } from '../helpers/run-in-process.ts'

const postgresql = await sharedPostgresql()

test('a service moves from SQLite to PostgreSQL: same tokens, lists, bytes and cursors', async () => {
  const [source, target] = [await newDatabase(), await postgresql.create('moved')]
  const original = await startTestServer({ databaseUrl: source })
  const { token } = original
  for (const body of ['{"id":9223372036854775807,"name":"🪴\\u2028\\u0001","tag":""}', '{"id":2,"name":"last"}']) {
    expect((await original.post(body)).status).toBe(200)
  }
  const list = await (await original.call('/plants')).text()
  const page = await original.call('/plants?limit=1')
  const next = `/plants${/<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1]}`
  const rest = await (await original.call(next)).text()
  expect(rest).toBe('[{"name":"last"}]')
  await original.close()

  // DATABASE_URL is the side that is left out.
  const { exitCode, stdout } = await runInProcess(['copy', '--to', target], { DATABASE_URL: source })
  expect(exitCode).toBe(0)
  expect(stdout).toMatch(/^The database "moved" at 127.0.0.1:\d+ is now a copy of \/\S+: 2 plants and 1 token\b/)
  const moved = await startTestServer({ databaseUrl: target })
  expect(await (await moved.call('/plants', { token })).text()).toBe(list)
  expect(await (await moved.call(next, { token })).text()).toBe(rest)
  await moved.close()
})

test('a copy says for whom it waits; Ctrl+C ends it soon and leaves the target empty; a password is in no output', async () => {
  const [source, target] = [await newDatabase(), await postgresql.create('locked')]
  await runSql(source, `INSERT INTO "Plant" ("account", "id", "name") VALUES ('alice', '1', 'Monstera')`)
  // The first plant cannot be inserted.
  const other = await openConnection(target)
  await other.run('BEGIN; LOCK TABLE "Plant" IN EXCLUSIVE MODE')
  const withPassword = target.replace('postgres@', 'postgres:geheim@')
  const child = spawnCommand(['copy', `--from=${source}`, '--to', withPassword])
  const closed = once(child, 'close')
  const output = collect(child.stdout, child.stderr)
  await until(() => / is locked by the process \d+ of PostgreSQL .*: waiting for it\n/.test(output()))
  child.kill('SIGINT')
  expect(await closed).toEqual([130, null])
  await other.close()
  expect(await query(target, 'SELECT * FROM "Plant"')).toEqual([])
  expect(output()).not.toContain('geheim')
})

test.each<[command: string, message: RegExp]>([
  ['copy', /^plant-store: name the source with --from or the target with --to; /],
  ['copy --to plants.db', /^plant-store: DATABASE_URL does not start with "file:" or "postgresql:"/],
  ['copy --from postgresql://ann:ge/heim@127.0.0.1/x', /^plant-store: DATABASE_URL is not a URL of one host: /],
])('%s is a usage error that shows no password', async (command, message) => {
  const { exitCode, stdout, stderr } = await runInProcess(command.split(' '))
  expect([exitCode, stdout]).toEqual([2, ''])
  expect(stderr).toMatch(message)
  expect(stderr).not.toMatch(/ge\/?heim/)
})
