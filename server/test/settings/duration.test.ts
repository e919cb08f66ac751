import { expect, test } from 'vitest'
import { formatDuration, parseDuration } from '../../src/settings/duration.ts'

test.each([
  ['250ms', 250],
  ['30s', 30_000],
  ['15m', 900_000],
  ['12h', 43_200_000],
  ['90d', 7_776_000_000],
])('%s is a duration', (text, milliseconds) => {
  expect(parseDuration(text, '90d')).toBe(milliseconds)
  expect(formatDuration(milliseconds)).toBe(text)
})

test.each(['', '0s', '-1d', '1', 'd', '1w', '1.5h', ' 1h', '1h ', '1h1m', '91d', '9999999999d'])(
  '%j is not a duration of at most 90 days',
  (text) => {
    expect(parseDuration(text, '90d')).toBeUndefined()
  },
)
