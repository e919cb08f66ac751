/** A plant whose request got a 200 is stored, however the process ends. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { startServerProcess } from '../../../test/helpers/server/run-command.ts'
import { createPlant, type PlantResponse, plantOf, startWriting } from '../../../test/helpers/server/start-writing.ts'
import { temporaryDatabase } from '../../../test/helpers/temporary-folder.ts'
import { expectListed } from '../helpers/storage/load.ts'
import { readDatabase } from '../helpers/storage/read-database.ts'

const KILLS = isLong ? 10 : 1
const WRITERS = 32
/** The longest time from the first response to a kill, in milliseconds. */
const LATEST_KILL = 500

test(`a server killed under load, ${KILLS} times: every acknowledged plant is listed exactly once, and none is half-written`, async () => {
  const { file, url } = temporaryDatabase()
  const start = () => startServerProcess({ DATABASE_URL: url })
  const responses: PlantResponse[] = []
  let server = await start()
  const token = /pst_\w+/.exec(server.output())?.[0] ?? ''
  const expectConsistent = async () => {
    const ids = await expectListed({ url: server.url, token }, responses)
    expect(readDatabase(file)).toEqual({ integrity: 'ok', ids })
  }

  for (let kill = 0; kill < KILLS; kill++) {
    const writing = startWriting({ url: server.url, token, writers: WRITERS, firstId: responses.length })
    await expect.poll(() => writing.responses.length, { timeout: 10_000, interval: 1 }).toBeGreaterThan(0)
    await sleep(Math.random() * LATEST_KILL)
    expect(await server.end('SIGKILL')).toBe(null)
    await writing.stop()
    responses.push(...writing.responses)
    const received = writing.responses.filter(({ status }) => status !== undefined)
    for (const { id, status, body } of received) expect([status, body]).toEqual([200, JSON.stringify(plantOf(id))])
    expect(received.length).toBeGreaterThan(0)

    server = await start()
    await expectConsistent()
    // Clients retry requests without a response.
    for (const response of responses.filter(({ status }) => status === undefined)) {
      response.status = (await createPlant(server.url, token, response.id)).status
      expect(response.status).toBe(200)
    }
    await expectConsistent()
  }

  expect(await server.end()).toBe(0)
})
