/** What got a 200 is not lost when the files of a running server's database are moved, removed or replaced. */
import { copyFileSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { startServerProcess, startWithToken } from '../../../test/helpers/server/run-command.ts'
import { createPlant, type PlantResponse, startWriting } from '../../../test/helpers/server/start-writing.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { expectListed, expectUnavailable, readiness } from '../helpers/storage/load.ts'
import { readDatabase } from '../helpers/storage/read-database.ts'

/** What happens to the files. */
interface Happening {
  title: string
  /** Resolves with what another server responded, if there was one. */
  happen(file: string, token: string): unknown
  /** Whether a list then has to be a 503. Otherwise it has every plant. */
  isReplaced?: boolean
  /** Puts back what was moved, before the next start. */
  putBack?(file: string): void
}

const happenings: Happening[] = [
  { title: 'the -wal is removed', happen: (file) => rmSync(`${file}-wal`) },
  {
    title: 'the -shm is removed and another server writes',
    async happen(file, token) {
      rmSync(`${file}-shm`)
      const other = await startServerProcess({ DATABASE_URL: `file:${file}` })
      const writing = startWriting({ url: other.url, token, writers: 8, firstId: 1_000_000 })
      await expect.poll(() => writing.responses.length).toBeGreaterThan(2_000)
      await writing.stop()
      expect(writing.responses.filter(({ status }) => status !== 200)).toEqual([])
      await other.end()
      return writing.responses
    },
    isReplaced: true,
  },
  {
    title: 'a copy replaces the database',
    happen(file) {
      copyFileSync(file, `${file}.copy`)
      renameSync(`${file}.copy`, file)
    },
    isReplaced: true,
  },
  {
    title: 'the folder is renamed',
    happen: (file) => renameSync(path.dirname(file), `${path.dirname(file)}-elsewhere`),
    putBack: (file) => renameSync(`${path.dirname(file)}-elsewhere`, path.dirname(file)),
  },
]

const signals = ['SIGTERM', 'SIGKILL'] as const

test.for(happenings.flatMap((each) => signals.map((signal) => ({ ...each, signal }))))(
  'what got a 200 is there after $signal where $title',
  async ({ happen, isReplaced = false, putBack, signal }) => {
    const folder = path.join(temporaryFolder(), 'data')
    const file = path.join(folder, 'plants.db')
    mkdirSync(folder)
    const { server, token } = await startWithToken(folder, 'plants', { ADMIN_PORT: '0' })
    const writing = startWriting({ url: server.url, token, writers: 8 })
    const stored = () => writing.responses.filter(({ status }) => status === 200)
    await expect.poll(() => stored().length).toBeGreaterThan(300)
    const others = ((await happen(file, token)) ?? []) as PlantResponse[]
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
    putBack?.(file)
    const again = await startServerProcess({ DATABASE_URL: `file:${file}` })
    const created = await createPlant(again.url, token, 5_000_001)
    expect(created.status).toBe(200)
    const ids = await expectListed({ url: again.url, token }, [...writing.responses, ...others, created])
    await again.end()
    expect(readDatabase(file)).toEqual({ integrity: 'ok', ids })
  },
)
