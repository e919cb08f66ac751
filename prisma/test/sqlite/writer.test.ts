import { statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { expect, test, vi } from 'vitest'
import { connect } from '../../../test/helpers/database/databases.ts'
import { temporaryDatabase } from '../../../test/helpers/temporary.ts'
import { loadEngine } from '../../src/address.ts'
import { StorageError } from '../../src/index.ts'
import { TIMES } from '../../src/patience.ts'
import { openWriter } from '../../src/sqlite/writer.ts'
import { openNewClient } from '../helpers/open-client.ts'

test('the log shrinks after a program that has kept it open, what reads cannot write, and texts have no parameters', async () => {
  const { file, url, prisma } = await openNewClient()
  // What is loaded into the server, such as a tracer, is not loaded into its threads.
  vi.stubEnv('NODE_OPTIONS', '--import=data:text/javascript,process.exit(1)')
  const { send, close } = await openWriter(file)
  vi.unstubAllEnvs()
  expect((await send('run', 'PRAGMA journal_size_limit')).rows).toEqual([[64_000_000n]])
  await close()
  expect(await prisma.$queryRawUnsafe(`SELECT '$10' AS price WHERE ? = 1`, 1)).toEqual([{ price: '$10' }])
  const reading = await (await loadEngine(url)).beginReading()
  await expect(reading.query('DELETE FROM "Plant"')).rejects.toThrow('is read-only')
  await reading[Symbol.asyncDispose]()
})

test('a database in another encoding, or whose disk does not support these settings, is rejected, and its thread ends', async () => {
  const terminate = vi.spyOn(Worker.prototype, 'terminate')
  const { file } = temporaryDatabase()
  connect(file).exec(`PRAGMA encoding = 'UTF-16le'; CREATE TABLE "Garden" ("name" TEXT)`)
  await expect(openWriter(file)).rejects.toThrow(`${file} is in UTF-16le: copy it to one in UTF-8`)
  await expect(openWriter(':memory:')).rejects.toThrow(
    new StorageError(':memory: does not support journal_mode=WAL and synchronous=FULL: put it on a local disk'),
  )
  expect(terminate).toHaveBeenCalledTimes(2)
})

test('the log is not written back into the file while both are in their place', async () => {
  const { file, prisma } = await openNewClient()
  await prisma.plant.createMany({ data: { account: 'alice', id: '1', name: 'Ficus' } })
  const { mtimeMs } = statSync(file)
  await sleep(3 * TIMES.check)
  expect(statSync(file).mtimeMs).toBe(mtimeMs)
})
