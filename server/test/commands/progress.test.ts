import { openSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { beforeEach, expect, test, vi } from 'vitest'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { withProgress } from '../../src/commands/database-commands.ts'

beforeEach(() => {
  vi.useFakeTimers()
  return () => void vi.useRealTimers()
})

const COPYING = 'copying 20%: 400 MB'

test.each<[where: string, isTerminal: boolean, end: number, steps: [at: number, progress: string][], written: string]>([
  [
    'without a terminal there is a line every five seconds',
    false,
    17_000,
    [
      [0, 'copying 0%: 0 MB'],
      [4_000, COPYING],
      [6_000, 'copying 40%: 600 MB'],
      [13_000, 'checking the copy'],
    ],
    'plant-store: copying 20%: 400 MB, 5 s\nplant-store: copying 40%: 600 MB, 10 s\nplant-store: checking the copy, 15 s\n',
  ],
  [
    'the line of a terminal replaces itself ten times a second, and is removed in the end',
    true,
    250,
    [
      [0, COPYING],
      [150, 'copying 100%: 2,000 MB'],
    ],
    '\rcopying 20%: 400 MB, 0 s\x1b[K\rcopying 100%: 2,000 MB, 0 s\x1b[K\r\x1b[K',
  ],
  ['nothing is written to a terminal by what is done soon', true, 90, [[0, COPYING]], ''],
  ['nothing is written without a terminal by what is done soon', false, 4_900, [[0, COPYING]], ''],
])('%s', async (_where, isTerminal, end, steps, written) => {
  const file = path.join(temporaryFolder(), 'errors')
  const run = async (show: (progress: string) => void) => {
    for (const [index, [at, progress]] of steps.entries()) {
      show(progress)
      await vi.advanceTimersByTimeAsync((steps[index + 1]?.[0] ?? end) - at)
    }
  }
  await withProgress(openSync(file, 'w'), run, isTerminal)
  expect(readFileSync(file, 'utf8')).toBe(written)
})
