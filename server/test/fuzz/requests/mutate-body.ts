import type { ModelPlant } from '../plant-model.ts'
import type { Random } from '../random.ts'
import { writeBody } from './write-body.ts'

/** Pieces that parsers are likely to misread. */
const PIECES: readonly (string | number[])[] = [
  ...'"\\{}[],:-+.e0 \n\0\u001f',
  ...['null', 'true', 'NaN'],
  ...['\\u0000', '\\ud800', '\\udc00\\ud800', '\\ud83e\\udeb4', '\\x', '\\u12', '/**/', '1e999', '-0', '00', '0x1'],
  ...['"id":1,', '"name":"x",', '"\\u0069d":2,', '"__proto__":1,', '[['.repeat(60), '{"a":'.repeat(120), '\ufeff'],
  ...[[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82], [0x80]],
]

const VALUES = [
  ...['null', 'true', '[]', '{}', '""', '"1"', '5', '-1', '0', '-0', '1.5', '1.0', '1e2', '1e-2', '100e-2', '1E+2'],
  ...['9223372036854775807', '9223372036854775808', '-9223372036854775808', '-9223372036854775809', '1e400', '1e19'],
  ...['9007199254740993', '9007199254740993.0', '0.000000000000000000001', '1.00000000000000000001', '0e99999999999'],
  ...[
    '1e99999999999',
    '1e-99999999999',
    '"\\u0000"',
    '"\\ud800"',
    '"\\udfff x"',
    '"🪴"',
    '[5]',
    '{"id":1}',
    '01',
    '.5',
  ],
]

const KEYS = ['id', 'name', 'tag', 'Id', 'x', '', '__proto__', 'constructor', 'toString']

/** Mutates the bytes or the members of a body. */
export function mutateBody(random: Random, plant: ModelPlant): Uint8Array {
  const body = random.percent(50) ? Buffer.from(writeBody(random, plant)) : Buffer.from(mutateMembers(random, plant))
  if (random.percent(40)) return body
  return mutateBytes(random, body)
}

/** Mutates bytes in a few places. */
export function mutateBytes(random: Random, original: Buffer): Buffer {
  let bytes = original
  for (let times = random.integer(1, 3); times > 0; times--) {
    const [start, end] = [random.integer(0, bytes.length), random.integer(0, bytes.length)].sort((a, b) => a - b)
    const before = bytes.subarray(0, start)
    const after = bytes.subarray(start)
    const span = bytes.subarray(start, Math.min(end ?? 0, (start ?? 0) + 20))
    bytes = random.pick([
      () => Buffer.concat([before, Buffer.from(random.pick(PIECES) as string), after]),
      () => Buffer.concat([before, Buffer.from([random.integer(0, 255)]), after.subarray(1)]),
      () => Buffer.concat([before, Buffer.from([(after[0] ?? 0) ^ (1 << random.integer(0, 7))]), after.subarray(1)]),
      () => Buffer.concat([before, after.subarray(span.length)]),
      () => Buffer.concat([before, span, after]),
      () => (random.percent(30) ? before : bytes),
    ])()
  }
  return bytes
}

/** Makes an object whose members are missing, of another type, duplicate or wrapped. */
function mutateMembers(random: Random, { id, name, tag }: ModelPlant): string {
  const members: [key: string, value: string][] = [
    ['id', String(id)],
    ['name', JSON.stringify(name)],
  ]
  if (tag !== undefined) members.push(['tag', JSON.stringify(tag)])
  for (let times = random.integer(1, 2); times > 0; times--) {
    const at = random.integer(0, members.length - 1)
    const member = members[at] ?? ['id', '1']
    random.pick([
      () => members.splice(at, 1, [member[0], random.pick(VALUES)]),
      () => members.splice(at, 1, [member[0], random.pick(VALUES)]),
      () => members.splice(at, 1),
      () => members.splice(at, 0, [random.pick(KEYS), random.pick(VALUES)]),
      () => members.push(member),
      () => members.splice(at, 1, [random.pick(KEYS), member[1]]),
    ])()
    if (members.length === 0) break
  }
  const object = `{${members.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join()}}`
  return random.percent(90)
    ? object
    : random.pick([`[${object}]`, `${object}${object}`, object.slice(1), `"${object}"`])
}
