import type { ModelPlant } from '../plant-model.ts'
import type { Random } from '../random.ts'

const IDS = [0n, 1n, -1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n), 10n ** 18n]
const FRAGMENTS = [
  'a',
  'Ficus ',
  '"',
  '\\',
  '/',
  '\b\n\t',
  '\u007f',
  'é',
  'e\u0301',
  '龟',
  '\u2028',
  '\ufeff',
  '🪴',
  '{}',
]
const SPACES = ['', '', '', ' ', '\n', '\t\r ']
const EXTRAS = [
  '"x":null',
  '"__proto__":{"id":1}',
  '"nested":{"id":[1,{"id":2}]}',
  '"ID":7',
  '"":1e400',
  '"a":"\\ud800"',
]

/** Makes a valid plant, mostly with a new id. */
export function randomPlant(random: Random): ModelPlant {
  const id = random.percent(3) ? random.pick(IDS) : randomId(random)
  return { id, name: randomText(random), tag: random.percent(50) ? randomText(random) : undefined }
}

function randomId(random: Random): bigint {
  const id = (BigInt(random.integer(0, 2 ** 31)) << 32n) + BigInt(random.integer(0, 2 ** 32))
  return BigInt.asIntN(64, random.percent(50) ? id : -id)
}

function randomText(random: Random): string {
  return Array.from({ length: random.integer(0, 8) }, () => random.pick(FRAGMENTS)).join('')
}

/** Writes a plant as JSON in one of many ways. */
export function writeBody(random: Random, { id, name, tag }: ModelPlant): string {
  const members = [`"id":${writeId(random, id)}`, `"name":${writeText(random, name)}`]
  if (tag !== undefined) members.push(`${random.percent(10) ? '"\\u0074ag"' : '"tag"'}:${writeText(random, tag)}`)
  if (random.percent(20)) members.push(random.pick(EXTRAS))
  if (random.percent(30)) members.reverse()
  const space = () => random.pick(SPACES)
  return `${space()}{${members.map((member) => space() + member + space()).join()}}${space()}`
}

function writeId(random: Random, id: bigint): string {
  if (random.percent(70)) return String(id)
  return random.pick([`${id}.0`, `${id}e0`, `${id}0E-1`, `${id}.000e+00`, id === 0n ? '-0' : `${id}`])
}

function writeText(random: Random, text: string): string {
  if (random.percent(70)) return JSON.stringify(text)
  const escaped = Array.from({ length: text.length }, (_, at) => {
    return `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`
  })
  return `"${escaped.join('')}"`
}
