import { DatabaseSync } from 'node:sqlite'
import { expect, test, vi } from 'vitest'
import { connect } from '../../src/sqlite/connection.ts'

test('a hundred statements stay prepared', () => {
  const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare')
  const { run, close } = connect(':memory:')
  for (const count of [100, 100, 101, 100]) for (let number = 0; number < count; number++) run(`SELECT ${number}`)
  close()
  expect(prepare).toHaveBeenCalledTimes(100 + 1 + 100)
})
