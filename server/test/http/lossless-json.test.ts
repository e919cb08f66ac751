/** Which texts are JSON. The fuzzer has integers in every spelling, bodies.test.ts the limits and the messages. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createJsonReader, JsonSyntaxError } from '../../src/http/request/lossless-json.ts'

const parseLosslessJson = (text: string) => createJsonReader(text)()?.value

/** Parses a text; returns the class of the error if it is not JSON. */
function outcome(text: string, parse: (text: string) => unknown): unknown {
  try {
    return parse(text)
  } catch (error) {
    if (error instanceof JsonSyntaxError || error instanceof SyntaxError) return JsonSyntaxError
    throw error
  }
}

function inParts(text: string): unknown {
  const read = createJsonReader(text)
  for (;;) {
    const whole = read(1)
    if (whole) return whole.value
  }
}

/** Rounds every bigint of a value to a number, as JSON.parse does. */
function rounded(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(rounded)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, rounded(member)]))
}

test('JSON is parsed as by JSON.parse, but without rounding, and mutated JSON is rejected exactly if JSON.parse rejects it', () => {
  const fragments = fc.constantFrom(...'"\\{}[],:-.e01 \n\u0001', 'tru', 'null', '\\u12', '')
  const space = fc.constantFrom(undefined, 1, '\t')
  const change = [fc.json({ maxDepth: 6 }), space, fc.nat(), fc.nat({ max: 3 }), fragments] as const
  fc.assert(
    fc.property(...change, (json, indent, position, removed, inserted) => {
      const text = JSON.stringify(JSON.parse(json), null, indent)
      expect(rounded(parseLosslessJson(text))).toEqual(JSON.parse(text))
      expect(inParts(text)).toEqual(parseLosslessJson(text))
      const at = position % (text.length + 1)
      const changed = text.slice(0, at) + inserted + text.slice(at + removed)
      const isRejected = outcome(changed, parseLosslessJson) === JsonSyntaxError
      const isInvalid = outcome(changed, JSON.parse) === JsonSyntaxError
      // Only JSON.parse accepts duplicate keys.
      if (isRejected && !isInvalid) expect(() => parseLosslessJson(changed)).toThrow(/key/)
      else expect(isRejected).toBe(isInvalid)
    }),
    { numRuns: 3000 },
  )
})
