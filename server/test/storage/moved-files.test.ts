/** What got a 200 is not lost when the files of a running server's database are moved, removed or replaced. */
import { copyFileSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { runCommand, startServerProcess, startWithToken } from '../../../test/helpers/server/run-command.ts'
import { createPlant, type PlantResponse, startWriting } from '../../../test/helpers/server/start-writing.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { readiness } from '../helpers/storage/load.ts'
import { readDatabase } from '../helpers/storage/read-database.ts'

/** What happens to the files, and what another server responded meanwhile. */
interface Happening {
  title: string
  happen(file: string): unknown
  /** Whether a list then has to be a 503. Otherwise it has every plant. */
  isReplaced?: boolean
  /** Puts back what was moved, before the next start. */
  putBack?(file: string): void
}

async function createToken(file: string): Promise<string> {
  const args = ['token', 'create', '--account', 'bob']
  const { exitCode, stdout } = await runCommand(args, { DATABASE_URL: `file:${file}` })
  expect(exitCode).toBe(0)
  return stdout.trim()
}

const happenings: Happening[] = [
  { title: 'the -wal is removed', happen: (file) => rmSync(`${file}-wal`) },
  {
    // The command that creates a token opens the database, too.
    title: 'the -shm is removed and another server writes',
    async happen(file) {
      rmSync(`${file}-shm`)
      const token = await createToken(file)
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
    const stored = () => writing.responses.filter(({ status }) => status === 200).map(({ id }) => id)
    await expect.poll(() => stored().length).toBeGreaterThan(300)
    const others = ((await happen(file)) ?? []) as PlantResponse[]
    await expect.poll(() => writing.responses.some(({ status }) => status === 503)).toBe(true)
    await writing.stop()

    expect(await readiness(server)).toBe(
      '503 The database was moved, deleted or replaced: put it back, or restart the server.',
    )
    expect(await createPlant(server.url, token, 5_000_000)).toMatchObject({ status: 503, retryAfter: '5' })
    const list = await fetch(`${server.url}/plants`, { headers: { authorization: `Bearer ${token}` } })
    expect(list.status).toBe(isReplaced ? 503 : 200)
    if (!isReplaced) expect(((await list.json()) as unknown[]).length).toBeGreaterThanOrEqual(stored().length)
    expect(server.output()).toMatch(/plants\.db(-wal|-shm)? was moved, deleted or replaced/)

    expect(await server.end(signal)).toBe(signal === 'SIGTERM' ? 0 : null)
    putBack?.(file)
    const again = await startServerProcess({ DATABASE_URL: `file:${file}` })
    expect((await createPlant(again.url, token, 5_000_001)).status).toBe(200)
    await again.end()
    const { integrity, ids } = readDatabase(file)
    expect(integrity).toBe('ok')
    const present = new Set(ids)
    expect([...stored(), ...others.map(({ id }) => id)].filter((id) => !present.has(id))).toEqual([])
  },
)
