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
import { callPlants } from '../../../test/helpers/server/call-plants.ts'
import { createTokens } from '../../../test/helpers/server/run-command.ts'
import { temporaryDatabase, temporaryFolder } from '../../../test/helpers/temporary.ts'
import { expectIntegrity, startKillable, startLoad } from '../helpers/load.ts'
import type { Target } from '../helpers/wire.ts'

const KILLS = isLong ? 5 : 1

/** How many clients follow a list. */
const FOLLOWERS = isLong ? 3 : 1

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
  const tokens = await createTokens(databaseUrl, 'alice', 'bob')
  const servers = await Promise.all(Array.from({ length: count }, () => startKillable(databaseUrl)))
  const targets = servers.flatMap(({ url }) => tokens.map((token) => ({ url, ...token })))
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
  const plants = JSON.parse((await callPlants(followed[0] as Target)).body) as unknown[]
  for (const follower of followers) await follower.expectAll(plants)
  for (const server of servers) expect(await server.end()).toBe(0)
}

test(`two servers of one file, killed ${KILLS} times under load`, async () => {
  const { file, url } = temporaryDatabase()
  await killUnderLoad(url, 2)
  await expectIntegrity(file)
})

test.runIf(isLong)(`three servers of one PostgreSQL, killed ${KILLS} times, as the database is`, async () => {
  const postgresql = await startOwnPostgresql()
  await postgresql.create('plants')
  await killUnderLoad(postgresql.url('plants'), 3, postgresql.restart)
})
