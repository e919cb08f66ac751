import { expect, test } from 'vitest'
import { createProgressDisplay, type Progress } from '../../src/commands/console/progress.ts'

/** Shows progress at these times, in milliseconds, and returns what was written at each. */
function show(isTerminal: boolean, steps: [at: number, progress: Partial<Progress>][]): string[] {
  let time = 0
  let written = ''
  const write = (text: string) => {
    written += text
  }
  const display = createProgressDisplay({ isTerminal, write, now: () => time })
  return steps.map(([at, progress]) => {
    time = at
    written = ''
    display.show({ phase: 'copying', plants: 0, fraction: 0, begin: 0, ...progress })
    return written
  })
}

test('without a terminal there is a line every five seconds', () => {
  const lines = show(false, [
    [4_999, { plants: 400, fraction: 0.2 }],
    [5_000, { plants: 500, fraction: 0.25 }],
    [9_999, { plants: 900, fraction: 0.4 }],
    [10_000, { plants: 1_000, fraction: 0.5 }],
  ])
  expect(lines).toEqual([
    '',
    'plant-store: copying 25%: 500 plants, 100 plants/s, 15 s left\n',
    '',
    'plant-store: copying 50%: 1,000 plants, 100 plants/s, 10 s left\n',
  ])
})

test('a terminal gets a bar that replaces itself, at most ten times a second', () => {
  expect(
    show(true, [
      [99, { plants: 9 }],
      [1_000, { plants: 5_000, fraction: 0.5 }],
      [1_099, { plants: 9_000, fraction: 0.9 }],
      [2_000, { plants: 10_000, fraction: 1 }],
    ]),
  ).toEqual([
    '',
    '\r[############------------] copying 50%: 5,000 plants, 5,000 plants/s, 1 s left\x1b[K',
    '',
    '\r[########################] copying 100%: 10,000 plants, 5,000 plants/s, 0 s left\x1b[K',
  ])
})

test('the rate and the time left are those of the phase, also of a copy that continues', () => {
  const [, , line] = show(false, [
    [1_000, { phase: 'comparing', plants: 5_000, fraction: 0.5 }],
    [2_000, { phase: 'copying', plants: 1, fraction: 0.5, begin: 0.5 }],
    [121_000, { phase: 'copying', plants: 12_000, fraction: 0.6, begin: 0.5 }],
  ])
  expect(line).toBe('plant-store: copying 60%: 12,000 plants, 100 plants/s, 8 min 0 s left\n')
})
