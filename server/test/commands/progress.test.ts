import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createProgress } from '../../src/commands/context.ts'
import { openMemory } from '../helpers/telemetry/log-lines.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test.each([
  ['a terminal', true, 1_000, '\r\u001b[K1 of 9\r\u001b[K'],
  ['a pipe', false, 1_000, ''],
  ['a pipe', false, 25_000, '1 of 9\n1 of 9\n'],
])('progress is shown on %s (%o) after %i ms, and ends', (_output, isTTY, time, shown) => {
  const { stream, text } = openMemory()
  const { step, end } = createProgress(Object.assign(stream, { isTTY }))
  step('1 of 9')
  vi.advanceTimersByTime(time)
  end()
  vi.advanceTimersByTime(60_000)
  expect(text().replace(/^(.+?)\1+(?=\r)/s, '$1')).toBe(shown)
})
