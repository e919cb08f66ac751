import { expect, test, vi } from 'vitest'
import { StorageError } from '../src/database.ts'
import { retry } from '../src/retry.ts'

const busy = new StorageError('locked', { fault: 'locked', isTemporary: true })

test('an operation is retried while its error is temporary', async () => {
  const run = vi.fn<() => Promise<string>>().mockRejectedValueOnce(busy).mockRejectedValueOnce(busy)
  run.mockResolvedValue('done')
  expect(await retry(run, { patience: 60_000 })).toBe('done')
  expect(run).toHaveBeenCalledTimes(3)
})

test.each([
  [new StorageError('moved'), { patience: 60_000 }],
  [new Error('a mistake'), { patience: 60_000 }],
  [undefined, { patience: 60_000 }],
  [busy, { patience: 0 }],
  [busy, { patience: 60_000, mayRepeat: () => false }],
])('%s with %o is not retried', async (error, options) => {
  const run = vi.fn(() => Promise.reject(error))
  await expect(retry(run, options)).rejects.toBe(error)
  expect(run).toHaveBeenCalledTimes(1)
})

test('an aborted signal ends the retries with its reason', async () => {
  const aborting = new AbortController()
  const run = vi.fn(() => {
    aborting.abort(new Error('the end'))
    return Promise.reject(busy)
  })
  await expect(retry(run, { patience: 60_000, signal: aborting.signal })).rejects.toThrow('the end')
  expect(run).toHaveBeenCalledTimes(1)
})
