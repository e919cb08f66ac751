import { beforeEach, expect, test, vi } from 'vitest'
import { type Progress, withProgress } from '../../src/commands/progress.ts'

beforeEach(() => {
  vi.useFakeTimers()
  return () => void vi.useRealTimers()
})

/** Shows progress at these times, in milliseconds, to the end of the last one, and returns what was written. */
async function show(isTerminal: boolean, end: number, steps: [at: number, Progress][]): Promise<string[]> {
  const written: string[] = []
  const run = async (report: (progress: Progress) => void) => {
    for (const [index, [at, progress]] of steps.entries()) {
      report(progress)
      await vi.advanceTimersByTimeAsync((steps[index + 1]?.[0] ?? end) - at)
    }
  }
  await withProgress(run, { isTerminal, write: (text) => void written.push(text) })
  return written
}

test('without a terminal there is a line every five seconds, with the time that is left', async () => {
  const lines = await show(false, 12_000, [
    [0, { phase: 'copying', done: '0 MB', fraction: 0 }],
    [4_000, { phase: 'copying', done: '400 MB', fraction: 0.2 }],
    [6_000, { phase: 'copying', done: '600 MB', fraction: 0.4 }],
  ])
  expect(lines).toEqual([
    'plant-store: copying 20%: 400 MB, 20 s left\n',
    'plant-store: copying 40%: 600 MB, 15 s left\n',
  ])
})

test('the line of a terminal replaces itself ten times a second, and is removed in the end', async () => {
  const lines = await show(true, 250, [
    [0, { phase: 'copying', done: '0 plants', fraction: 0 }],
    [50, { phase: 'copying', done: '5,000 plants', fraction: 0.5 }],
    [150, { phase: 'copying', done: '10,000 plants', fraction: 1 }],
  ])
  expect(lines).toEqual([
    '\rcopying 50%: 5,000 plants, 0 s left\x1b[K',
    '\rcopying 100%: 10,000 plants, 0 s left\x1b[K',
    '\r\x1b[K',
  ])
})

test('the time left is that of the phase, also of one that continues; without a measure there is the time so far', async () => {
  const lines = await show(false, 151_000, [
    [0, { phase: 'comparing', done: '5,000 plants', fraction: 0.5 }],
    [1_000, { phase: 'copying', done: '6,000 plants', fraction: 0.5 }],
    [119_000, { phase: 'copying', done: '12,000 plants', fraction: 0.6 }],
    [126_000, { phase: 'checking the copy' }],
  ])
  expect(lines[0]).toBe('plant-store: copying 50%: 6,000 plants\n')
  expect(lines[23]).toBe('plant-store: copying 60%: 12,000 plants, 7 min 56 s left\n')
  expect(lines.slice(25)).toEqual(
    Array.from([4, 9, 14, 19, 24], (time) => `plant-store: checking the copy: ${time} s\n`),
  )
})

test('nothing is written by what is done soon', async () => {
  for (const isTerminal of [true, false]) expect(await show(isTerminal, 90, [[0, { phase: 'copying' }]])).toEqual([])
})
