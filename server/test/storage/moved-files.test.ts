/** What got a 200 is not lost when the files of a running server's database are moved, removed or replaced. */
import { copyFileSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { startServerProcess, startWithToken } from '../../../test/helpers/server/run-command.ts'
import { createPlant, type PlantResponse, startWriting } from '../../../test/helpers/server/start-writing.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { expectListed, expectUnavailable, readiness } from '../helpers/storage/load.ts'
import { readDatabase } from '../helpers/storage/read-database.ts'

async function writeFromOther(file: string, token: string): Promise<PlantResponse[]> {
  rmSync(`${file}-shm`)
  const other = await startServerProcess({ DATABASE_URL: `file:${file}` })
  const writing = startWriting({ url: other.url, token, writers: 8, firstId: 1_000_000 })
  await expect.poll(() => writing.responses.length).toBeGreaterThan(2_000)
  await writing.stop()
  expect(writing.responses.filter(({ status }) => status !== 200)).toEqual([])
  await other.end()
  return writing.responses
}

function replace(file: string): void {
  copyFileSync(file, `${file}.copy`)
  renameSync(`${file}.copy`, file)
}

/** What happens to the files, and whether a list then has to be a 503; otherwise it has every plant. */
const happenings = [
  { title: 'the -wal is removed', happen: (file: string) => rmSync(`${file}-wal`), isReplaced: false },
  { title: 'the -shm is removed and another server writes', happen: writeFromOther, isReplaced: true },
  { title: 'a copy replaces the database', happen: replace, isReplaced: true },
]

const signals = ['SIGTERM', 'SIGKILL'] as const

test.for(happenings.flatMap((each) => signals.map((signal) => ({ ...each, signal }))))(
  'what got a 200 is there after $signal where $title',
  async ({ happen, isReplaced, signal }) => {
    const folder = temporaryFolder()
    const file = path.join(folder, 'plants.db')
    const { server, token } = await startWithToken(folder, 'plants', { ADMIN_PORT: '0' })
    const writing = startWriting({ url: server.url, token, writers: 8 })
    const stored = () => writing.responses.filter(({ status }) => status === 200)
    await expect.poll(() => stored().length).toBeGreaterThan(300)
    const others = (await happen(file, token)) ?? []
    await expect.poll(() => writing.responses.some(({ status }) => status === 503)).toBe(true)
    await writing.stop()

    expect(await readiness(server)).toBe(
      '503 The database was moved, deleted or replaced: put it back, or restart the server.',
    )
    expectUnavailable(await createPlant(server.url, token, 5_000_000))
    const list = await fetch(`${server.url}/plants`, { headers: { authorization: `Bearer ${token}` } })
    expect(list.status).toBe(isReplaced ? 503 : 200)
    if (!isReplaced) expect(((await list.json()) as unknown[]).length).toBeGreaterThanOrEqual(stored().length)
    expect(server.output()).toMatch(/plants\.db(-wal|-shm)? was moved, deleted or replaced/)

    expect(await server.end(signal)).toBe(signal === 'SIGTERM' ? 0 : null)
    const again = await startServerProcess({ DATABASE_URL: `file:${file}` })
    const created = await createPlant(again.url, token, 5_000_001)
    expect(created.status).toBe(200)
    const ids = await expectListed({ url: again.url, token }, [...writing.responses, ...others, created])
    await again.end()
    expect(readDatabase(file)).toEqual({ integrity: 'ok', ids })
  },
)
