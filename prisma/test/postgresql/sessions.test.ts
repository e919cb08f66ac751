/**
 * Settings of sessions that a database or a role brings: what the driver and our statements presume of them is not
 * presumed.
 */
import { expect, test } from 'vitest'
import { query, runSql, sharedPostgresql } from '../../../test/helpers/database/databases.ts'
import { hasPgbouncer, startPgbouncer } from '../../../test/helpers/network/pgbouncer.ts'
import { openDatabase } from '../../src/database.ts'
import { openClient } from '../helpers/open-client.ts'

const postgresql = await sharedPostgresql()

/** How a server connects to the database of this name. */
const WAYS: Record<string, (name: string) => Promise<string>> = {
  directly: async (name) => postgresql.url(name),
  ...(hasPgbouncer && {
    'through a pooler': async (name) => `${await startPgbouncer(postgresql.port)}/${name}?pgbouncer=true`,
  }),
}

const OTHERS = `extra_float_digits = -15; bytea_output = escape; IntervalStyle = sql_standard; client_encoding = LATIN1;
  standard_conforming_strings = off; escape_string_warning = off; array_nulls = off; transform_null_equals = on;
  client_min_messages = debug5; default_transaction_deferrable = on; quote_all_identifiers = on; xmloption = document;
  plan_cache_mode = force_generic_plan; exit_on_error = on; search_path = pg_catalog, public`
const SETTINGS = [
  `TimeZone = 'America/New_York'; DateStyle = 'ISO, MDY'`,
  `TimeZone = 'Asia/Kolkata'; DateStyle = 'German'; ${OTHERS}`,
]
/** All times of the tokens and the plant, in milliseconds since 1970. */
const SELECT_TIMES = `
  SELECT extract(epoch FROM time) * 1000 AS time FROM "Token", unnest(ARRAY["createdAt", "expiresAt", "revokedAt"])
    WITH ORDINALITY AS times(time, position) WHERE time IS NOT NULL
  UNION ALL SELECT extract(epoch FROM "createdAt") * 1000 FROM "Plant" ORDER BY time`

test.each(Object.keys(WAYS))('times are right whatever the settings of a session, %s', async (way) => {
  const base = (await WAYS[way]?.('')) ?? expect.unreachable()
  for (const [index, settings] of SETTINGS.entries()) {
    const name = `${way} ${index}`
    const set = settings.split(';').map((setting) => `ALTER DATABASE "${name}" SET ${setting}`)
    await runSql(await postgresql.create(name), set.join(';'))
    // Stores and reads times of a database, and reads them as another program does.
    const url = base.replace(/(?=\?|$)/, encodeURIComponent(name))
    const { plants, tokens, close } = await openDatabase(url)
    const begin = Date.now()
    const expiresAt = new Date(begin + 10_000)
    const token = { account: 'älice', scopes: ['read'], label: null, expiresAt }
    const first = await tokens.create({ ...token, id: 'a', hash: 'a' })
    await tokens.create({ ...token, id: 'b', hash: 'b' })
    const { isNew: _, ...second } = (await tokens.revoke('b')) ?? expect.unreachable()
    await plants.create([{ account: 'älice', id: 'c', name: '🪴', tag: null }])
    const end = Date.now()

    expect([second, undefined, first]).toMatchObject(await tokens.find(['b', 'none', 'a']))
    expect(await tokens.list()).toEqual([first, second])
    const { prisma } = await openClient(url)
    const after = (time: number) => ({ where: { expiresAt: { gt: new Date(time) } }, orderBy: { id: 'desc' } }) as const
    expect((await prisma.token.findMany(after(begin + 9_999))).map(({ id }) => id)).toEqual(['b', 'a'])
    expect(await prisma.token.findMany(after(begin + 10_000))).toEqual([])
    const [plant] = await prisma.plant.findMany({ select: { createdAt: true } })

    const now = [first.createdAt, second.createdAt, second.revokedAt, plant?.createdAt].map(Number)
    expect(now).toEqual(now.toSorted())
    expect([begin <= Number(now[0]), Number(now.at(-1)) <= end]).toEqual([true, true])
    const stored = await query<{ time: string }>(postgresql.url(name), SELECT_TIMES)
    expect(stored.map(({ time }) => Number(time))).toEqual([...now, Number(expiresAt), Number(expiresAt)])
    await close()
  }
})
