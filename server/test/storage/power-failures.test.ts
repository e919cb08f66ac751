/**
 * What got a 200, a token that was printed and a backup that is finished survive a power failure at any
 * moment: a server is killed under load while all that it does to its files is recorded, and what a disk
 * may have of that is opened again.
 */
import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { existsSync, rmSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { query } from '../../../test/helpers/database/databases.ts'
import { recordDisk, whyNoRecording } from '../../../test/helpers/database/recording-disk.ts'
import { until } from '../../../test/helpers/programs.ts'
import { createRandom } from '../../../test/helpers/random.ts'
import { createPlant, plantOf } from '../../../test/helpers/server/call-plants.ts'
import { runCommand, startServerProcess } from '../../../test/helpers/server/run-command.ts'
import { temporaryFolder } from '../../../test/helpers/temporary.ts'

const KILLS = 4
const WRITERS = 32
/** How much a server writes until it is killed, at most, in bytes. */
const MAX_WRITTEN = 2 ** 20
const MEMORY = '/dev/shm'
const FAILURES = 150
/**
 * With AUTOINCREMENT, SQLite changes a page, and so syncs, also where an INSERT adds no row. A retried
 * plant must not depend on that.
 */
const WITHOUT_AUTOINCREMENT = `
  const database = new (require('node:sqlite').DatabaseSync)(process.argv[1], { defensive: false })
  database.exec(\`PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, ' AUTOINCREMENT', '') WHERE name = 'Plant'\`)
  database.close()`

/** What a client has been told, and how much was recorded then. */
interface Confirmed<What> {
  readonly what: What
  readonly position: number
}

type History = Awaited<ReturnType<typeof writeHistory>>

/** Kills servers under load, retries what got no response, and creates tokens and backups meanwhile. */
async function writeHistory() {
  const folder = temporaryFolder()
  const disk = recordDisk(folder)
  const file = path.join(folder, 'plants.db')
  const environment = { DATABASE_URL: `file:${file}`, ...disk.environment }
  const plants: Confirmed<number>[] = []
  const tokens: Confirmed<string>[] = []
  /** The name of each backup, and the plants that were confirmed before it. */
  const backups: Confirmed<{ name: string; ids: readonly number[] }>[] = []
  const run = async (...args: string[]) => {
    const { exitCode, stdout, stderr } = await runCommand(args, environment)
    expect([exitCode, exitCode === 0 ? '' : stderr]).toEqual([0, ''])
    return stdout.trim()
  }
  const createToken = async () => {
    const what = await run('token', 'create', '--account', 'alice')
    tokens.push({ what, position: disk.position() })
    return what
  }
  const backUp = async () => {
    const ids = plants.map(({ what }) => what)
    const name = `backup-${backups.length}.db`
    await run('backup', path.join(folder, name))
    backups.push({ what: { name, ids }, position: disk.position() })
  }
  await run('migrate')
  execFileSync(process.execPath, ['-e', WITHOUT_AUTOINCREMENT, file], { env: { ...process.env, ...disk.environment } })
  const token = await createToken()

  let nextId = 0
  const open: number[] = []
  /** When the first plant of each server that was killed was confirmed by the next one. */
  const retries: number[] = []
  async function create(url: string, id: number): Promise<boolean> {
    const { status } = await createPlant(url, token, id)
    if (status === 200) plants.push({ what: id, position: disk.position() })
    else if (status === undefined) open.push(id)
    return status !== undefined
  }
  async function write(url: string): Promise<void> {
    while (await create(url, nextId++));
  }
  /**
   * Starts a server after one that was killed, and retries what got no response, one after the other, since a
   * plant that is new would sync those before it. A program that has opened the file before keeps the log open:
   * the start would otherwise sync it.
   */
  async function startAgain() {
    const reader = new DatabaseSync(file, { readOnly: true })
    reader.exec('PRAGMA user_version')
    const server = await startServerProcess(environment)
    for (const [index, id] of open.splice(0).entries()) {
      await create(server.url, id)
      if (index === 0) retries.push(disk.position())
    }
    reader.close()
    return server
  }
  for (let kill = 0; kill < KILLS; kill++) {
    const server = await (kill === 0 ? startServerProcess(environment) : startAgain())
    const end = disk.position() + Math.random() * MAX_WRITTEN
    const writing = Promise.all(Array.from({ length: WRITERS }, () => write(server.url)))
    if (kill === 1) await Promise.all([createToken(), backUp()])
    await until(() => disk.position() > end)
    await server.end('SIGKILL')
    await writing
  }
  const server = await startAgain()
  expect(await server.end()).toBe(0)
  await backUp()
  return { disk, retries, plants, tokens, backups }
}

/** Opens what a power failure leaves. Returns what is wrong with it. */
async function findDamage(history: History, moment: number, random: () => number): Promise<string[]> {
  // In memory, where syncs take no time.
  const folder = temporaryFolder(existsSync(MEMORY) ? MEMORY : undefined)
  const file = path.join(folder, 'plants.db')
  const before = <What>(all: readonly Confirmed<What>[]) =>
    all.filter(({ position }) => position <= moment).map(({ what }) => what)
  const [ids, tokens] = [before(history.plants), before(history.tokens)]
  try {
    history.disk.leave(folder, moment, random)
    const damage: string[] = []
    for (const { name, ids } of before(history.backups))
      damage.push(...(await inspect(path.join(folder, name), ids, [])))
    if (tokens.length > 0) damage.push(...(await inspect(file, ids, tokens)))
    return damage
  } catch (error) {
    return [String(error)]
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Looks for plants and tokens in a file. */
async function inspect(file: string, ids: readonly number[], tokens: readonly string[]): Promise<string[]> {
  const [read] = await query<Record<'integrity' | 'hashes' | 'plants', string>>(
    `file:${file}`,
    `SELECT (SELECT group_concat(integrity_check) FROM pragma_integrity_check) AS integrity,
       (SELECT json_group_array("hash") FROM "Token") AS hashes,
       (SELECT json_group_array(json_array("id", "name", "tag")) FROM "Plant") AS plants`,
  )
  const { integrity, hashes, plants } = read ?? expect.unreachable()
  const stored = new Set((JSON.parse(plants) as unknown[]).map((plant) => JSON.stringify(plant)))
  const textOf = (id: number) => JSON.stringify([String(id), plantOf(id).name, plantOf(id).tag ?? null])
  return [
    ...(integrity === 'ok' ? [] : [`${file}: ${integrity}`]),
    ...ids.filter((id) => !stored.has(textOf(id))).map((id) => `${file} has lost the plant ${id}`),
    ...tokens.filter((token) => !hashes.includes(hash('sha256', token))).map((token) => `${file} has lost ${token}`),
  ]
}

test.skipIf(whyNoRecording)('nothing that was confirmed is lost by a power failure at any moment', async () => {
  const history = await writeHistory()
  const end = history.disk.position()
  const random = createRandom()
  /** Any moment, or one at which a retried plant may be the only one since the server was killed. */
  const chooseMoment = () => {
    const retry = history.retries[Math.floor(random() * history.retries.length)]
    return retry !== undefined && random() < 0.3 ? retry : Math.floor(random() * (end + 1))
  }
  for (let failure = 0; failure < FAILURES; failure++) {
    const moment = chooseMoment()
    const damage = await findDamage(history, moment, random)
    expect(damage, `power failure ${failure} at ${moment}`).toEqual([])
  }
})
