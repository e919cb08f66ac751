import type { SqlDriverAdapter } from '@prisma/driver-adapter-utils'
import { expect, test } from 'vitest'
import { DatabaseError } from '../../src/index.ts'
import { checkSettings } from '../../src/sqlite/connection/connection-settings.ts'

/** A connection with these settings. */
function connectionWith(journalMode: string, synchronous: number, version: string): SqlDriverAdapter {
  const columnNames = ['journal_mode', 'synchronous', 'version']
  const queryRaw = async () => ({ columnNames, columnTypes: [], rows: [[journalMode, synchronous, version]] })
  return { queryRaw } as unknown as SqlDriverAdapter
}

test.each([
  ['wal', 2, '3.51.3'],
  ['wal', 2, '3.100.0'],
  ['wal', 2, '4.0.0'],
])('a connection with journal_mode=%s, synchronous=%i and SQLite %s is accepted', async (...settings) => {
  await checkSettings(connectionWith(...settings), '/srv/plants.db')
})

test.each([
  ['delete', 2, '3.51.3', /WAL .* put it on a local disk/],
  ['wal', 1, '3.51.3', /synchronous=FULL: put it on a local disk/],
  ['wal', 2, '3.51.2', /SQLite 3\.51\.2 can corrupt .* or newer/],
  ['wal', 2, '3.9.0', /SQLite 3\.9\.0 can corrupt/],
])('a connection with journal_mode=%s, synchronous=%i and SQLite %s is rejected', async (...settings) => {
  const [journalMode, synchronous, version, message] = settings
  const checked = checkSettings(connectionWith(journalMode, synchronous, version), '/srv/plants.db')
  await expect(checked).rejects.toThrow(DatabaseError)
  await expect(checked).rejects.toThrow(message)
})
