import { expect, test } from 'vitest'
import { createProgressDisplay, type Progress } from '../../src/commands/console/progress.ts'

/** Shows progress at these times, in milliseconds, and returns what was written at each. */
function show(isTerminal: boolean, steps: [at: number, progress: Partial<Progress & { done: number }>][]): string[] {
  let time = 0
  let written = ''
  const write = (text: string) => {
    written += text
  }
  const display = createProgressDisplay({ isTerminal, write, now: () => time })
  return steps.map(([at, progress]) => {
    time = at
    written = ''
    display.show({ phase: 'copying', done: 0, unit: 'plants', fraction: 0, begin: 0, ...progress })
    return written
  })
}

test('without a terminal there is a line every five seconds', () => {
  const lines = show(false, [
    [4_999, { done: 400, fraction: 0.2 }],
    [5_000, { done: 500, fraction: 0.25 }],
    [9_999, { done: 900, fraction: 0.4 }],
    [10_000, { done: 1_000, fraction: 0.5 }],
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
      [99, { done: 9 }],
      [1_000, { done: 5_000, fraction: 0.5 }],
      [1_099, { done: 9_000, fraction: 0.9 }],
      [2_000, { done: 10_000, fraction: 1 }],
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
    [1_000, { phase: 'comparing', done: 5_000, fraction: 0.5 }],
    [2_000, { phase: 'copying', done: 1, fraction: 0.5, begin: 0.5 }],
    [121_000, { phase: 'copying', done: 12_000, fraction: 0.6, begin: 0.5 }],
  ])
  expect(line).toBe('plant-store: copying 60%: 12,000 plants, 100 plants/s, 8 min 0 s left\n')
})

test('a backup is measured in MB, and what has no measure by its time', () => {
  const steps: [number, object][] = [
    [6_000, { unit: 'MB', done: 600, fraction: 0.5 }],
    [12_000, { phase: 'checking the copy', fraction: undefined }],
    [72_000, { phase: 'checking the copy', fraction: undefined }],
  ]
  expect(show(false, steps)).toEqual([
    'plant-store: copying 50%: 600 MB, 100 MB/s, 6 s left\n',
    'plant-store: checking the copy: 6 s\n',
    'plant-store: checking the copy: 1 min 6 s\n',
  ])
  expect(show(true, steps)[1]).toBe('\rchecking the copy: 6 s\x1b[K')
})
