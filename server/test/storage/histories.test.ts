/**
 * Everything that clients did and saw, while servers and databases are killed, is what a
 * service that keeps its promises does.
 */

import { appendFile, readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'
import { startOwnPostgresql } from '../../../test/helpers/database/databases.ts'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { root, startProgram, until } from '../../../test/helpers/programs.ts'
import { temporaryDatabase, temporaryFolder } from '../../../test/helpers/temporary.ts'
import { findViolations, type Operation } from '../helpers/history.ts'
import { createTokens, readDatabase, startKillable, startLoad } from '../helpers/load.ts'
import type { Target } from '../helpers/wire.ts'

const KILLS = isLong ? 5 : 1

/** How many clients follow a list. */
const FOLLOWERS = 3

/** Starts the program of the SDK's recipe, which appends the plants of an account to a file. */
async function startFollower({ url, token }: Target) {
  const file = path.join(temporaryFolder(), 'followed.jsonl')
  const command = [
    process.execPath,
    '--conditions=@plant-store/source',
    `${root}client/docs/follow-plants.ts`,
    file,
    '50',
  ]
  const env = { ...process.env, PLANT_STORE_URL: url, PLANT_STORE_TOKEN: token }
  const start = () => startProgram(command, async () => (await readFile(`${file}.place`)).length > 0, { env })
  let program = await start()
  return {
    /** Kills it, perhaps in the middle of a line, and starts it again. */
    async restart(): Promise<void> {
      await program.stop('SIGKILL')
      await appendFile(file, '{"name":"cut')
      program = await start()
    },
    /** Waits until its file has as many plants as a list, expects that they are the same, and ends it. */
    async expectAll(plants: readonly unknown[]): Promise<void> {
      const lines = async () => (await readFile(file, 'utf8')).split('\n').slice(0, -1)
      await until(async () => (await lines()).length >= plants.length)
      await program.stop('SIGKILL')
      expect((await lines()).map((line) => JSON.parse(line))).toEqual(plants)
    },
  }
}

/**
 * Kills each of some servers and followers, and now and then their database, again and again under clients of every
 * account.
 */
async function killUnderLoad(
  databaseUrl: string,
  count: number,
  killDatabase = async (_signal: NodeJS.Signals) => {},
): Promise<void> {
  const tokens = await createTokens(databaseUrl, 'alice', 'bob', 'calm')
  const servers = await Promise.all(Array.from({ length: count }, () => startKillable(databaseUrl)))
  const targets = servers.flatMap(({ url }) =>
    tokens.map((token) => ({ url, ...token, isCalm: token.account === 'calm' })),
  )
  const followed = targets.filter(({ account }) => account === 'alice')
  const followers = await Promise.all(
    Array.from({ length: FOLLOWERS }, (_, index) => startFollower(followed[index % count] as Target)),
  )
  const load = startLoad(...(targets as [(typeof targets)[0]]))
  await load.during(async () => {
    for (let kill = 0; kill < KILLS; kill++) {
      await load.progress()
      await Promise.all([servers[kill % count]?.restart(), followers[kill % FOLLOWERS]?.restart()])
      if (kill % 3 === 1) await killDatabase(kill === 4 ? 'SIGINT' : 'SIGKILL')
    }
    await load.progress()
  })
  expect(load.unchanged()).toBeGreaterThan(0)
  const { url, token } = followed[0] as Target
  const listed = await fetch(`${url}/plants`, { headers: { authorization: `Bearer ${token}` } })
  const plants = (await listed.json()) as unknown[]
  for (const follower of followers) await follower.expectAll(plants)
  for (const server of servers) expect(await server.end()).toBe(0)
}

test(`two servers of one file, killed ${KILLS} times under load`, async () => {
  const { file, url } = temporaryDatabase()
  await killUnderLoad(url, 2)
  expect(readDatabase(file).integrity).toBe('ok')
})

test.runIf(isLong)(`three servers of one PostgreSQL, killed ${KILLS} times, as the database is`, async () => {
  const postgresql = await startOwnPostgresql()
  await postgresql.create('plants')
  await killUnderLoad(postgresql.url('plants'), 3, async (signal) => {
    await postgresql.stop(signal)
    await postgresql.start()
  })
})

// That it can fail: a history that is right, and what makes it impossible.

const operation = (kind: Operation['kind'], [begin, end]: [number, number], ...plants: number[]): Operation => ({
  kind,
  account: 'alice',
  process: 0,
  begin,
  end,
  outcome: 'confirmed',
  plants,
})
const lost = operation('create', [13, 14], 4)
const right: readonly Operation[] = [
  operation('create', [1, 2], 1),
  operation('list', [3, 6], 1, 2),
  operation('create', [4, 5], 2),
  operation('create', [7, 10], 3),
  operation('list', [8, 9], 1, 2, 3),
  operation('list', [11, 12], 1, 2, 3),
  { ...lost, outcome: 'unknown' },
  { ...operation('create', [15, 16], 5), outcome: 'rejected' },
  operation('list', [17, 18], 1, 2, 3),
]

test('a history without a violation has none', () => expect(findViolations(right)).toEqual([]))

test.each([
  ['is not the beginning of the last list', 1, { plants: [2, 1] }],
  ['lacks 2, which was confirmed before', 5, { plants: [1] }],
  ['has 3, which was sent after it', 1, { plants: [1, 2, 3] }],
  ['is shorter than that of 0 before it', 5, { plants: [1, 2] }],
  ['5 was rejected, and is listed', 8, { plants: [1, 2, 3, 5] }],
  ['3 was confirmed, and is not listed', 8, { plants: [1, 2] }],
  ['4 was confirmed, and is not listed', 6, { outcome: 'confirmed' }],
  ['9 is listed, and was never sent', 8, { plants: [1, 2, 3, 9] }],
  ['a plant is listed twice', 8, { plants: [1, 2, 3, 3] }],
  ['2 is listed after one that was sent later', 8, { plants: [1, 3, 2] }],
] as const)('a history that was tampered with is found: %s', (sentence, index, change) => {
  const tampered = right.with(index, { ...(right[index] as Operation), ...change })
  expect(findViolations(tampered).join('\n')).toContain(sentence)
})
