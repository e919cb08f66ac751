import type { ModelPlant } from './plant-model.ts'

const MAX_DEPTH = 100
const INT64 = [-(2n ** 63n), 2n ** 63n - 1n] as const
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** The number of the error for a body that is not JSON, or not a NewPlant. */
export type BodyError = 40001 | 40002

/**
 * Reads the body of a request to create a plant by the rules of the contract, in another way than the server:
 * `JSON.parse` decides what is JSON; the tokens give duplicate keys, depth and the exact id.
 */
export function readBody(bytes: Uint8Array): ModelPlant | BodyError {
  let text: string
  let value: unknown
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    value = JSON.parse(text)
  } catch {
    return 40001
  }
  const { hasDuplicateKey, depth, idLiteral } = survey(text)
  if (hasDuplicateKey || depth > MAX_DEPTH) return 40001
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 40002
  const { name, tag } = value as Record<string, unknown>
  const id = exactInteger(idLiteral ?? '')
  if (id === undefined || id < INT64[0] || id > INT64[1]) return 40002
  if (!isText(name) || !(isText(tag) || !Object.hasOwn(value, 'tag'))) return 40002
  return { id, name, tag: Object.hasOwn(value, 'tag') ? (tag as string) : undefined }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && !/[\0\ud800-\udfff]/u.test(value)
}

interface Survey {
  hasDuplicateKey: boolean
  depth: number
  /** The token of the outermost object's "id". */
  idLiteral: string | undefined
}

/** Surveys the tokens of a JSON text. */
function survey(text: string): Survey {
  const result: Survey = { hasDuplicateKey: false, depth: 0, idLiteral: undefined }
  const keysOfOpen: Set<string>[] = []
  const tokens = text.match(TOKEN) ?? []
  for (const [index, token] of tokens.entries()) {
    if (token === '{' || token === '[') {
      keysOfOpen.push(new Set())
      result.depth = Math.max(result.depth, keysOfOpen.length)
    } else if (token === '}' || token === ']') {
      keysOfOpen.pop()
    } else if (tokens[index + 1] === ':') {
      const key = JSON.parse(token)
      const keys = keysOfOpen.at(-1)
      if (keys?.has(key)) result.hasDuplicateKey = true
      keys?.add(key)
      if (keysOfOpen.length === 1 && key === 'id') result.idLiteral = tokens[index + 2]
    }
  }
  return result
}

/** Returns the value of a JSON number; undefined if it is not an integer or is far beyond int64. */
function exactInteger(literal: string): bigint | undefined {
  const [, sign, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(literal) ?? []
  if (sign === undefined) return undefined
  const digits = whole + fraction
  if (/^0*$/.test(digits)) return 0n
  const shift = Number(exponent) - fraction.length
  if (Math.abs(shift) > 10_000) return undefined
  const scaled = BigInt(digits) * (shift > 0 ? 10n ** BigInt(shift) : 1n)
  const divisor = shift < 0 ? 10n ** BigInt(-shift) : 1n
  if (scaled % divisor !== 0n) return undefined
  return (scaled / divisor) * (sign === '-' ? -1n : 1n)
}
