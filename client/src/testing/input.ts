/** What the fake accepts as the input of an operation: what the service does, with its messages. */
import { type ErrorName, limits } from '../generated/error-codes.ts'
// biome-ignore lint/suspicious/noImportCycles: what is generated takes only types from here.
import { requestRules } from '../generated/requests.ts'
import { type OperationName, routes } from '../generated/routes.ts'
import { isObject, orUndefined, toInt64 } from '../values.ts'
import { type Int64s, readJson, whyNotExact } from '../wire/json.ts'
import { rejectRequest } from './operations.ts'

/** What the service accepts as the value of a field. */
interface Rule {
  readonly required?: boolean
  /** Types of JSON Schema, or `int64`. */
  readonly types: readonly string[]
  /** The limits of a number, or of the length of a text. */
  readonly minimum?: number
  readonly maximum?: number
  readonly patterns: readonly string[]
  /** What it says about another value. */
  readonly message: string
}

type Rules = Readonly<Record<string, Rule>>

/** A scope of a token. */
export type Scope = 'read' | 'write'

/** What the service accepts as a request of an operation: the fields of each part. */
export interface RequestRules extends Readonly<Record<'path' | 'query' | 'body', Rules>> {
  /** A regular expression of its path, with a group for each parameter. */
  readonly pattern: string
  /** The scope that the token must have. */
  readonly scope: Scope
}

/**
 * Checks the parts of a request, and reads the input of an operation from them.
 *
 * @param segments the parameters of the path
 * @param text the body
 * @throws {ApiError} of the first part that is invalid, with all that is wrong in it
 */
export function readInput(
  operation: OperationName,
  segments: Readonly<Record<string, string>>,
  query: string,
  text: string,
): object {
  const rules = requestRules[operation]
  const parameters = new Map(new URLSearchParams(`?${query}`))
  const { body, int64s } = routes[operation]
  const json = body && readBody(text, int64s)
  return {
    // A malformed escape becomes U+0000, which is invalid in every path.
    ...checkFields('notFound', rules.path, (name, rule) =>
      readText(orUndefined(() => decodeURIComponent(segments[name] ?? '')) ?? '\0', rule),
    ),
    ...checkFields('invalidQuery', rules.query, (name, rule) => {
      const text = parameters.get(name)
      return text && readText(text, rule)
    }),
    ...checkFields('invalidBody', rules.body, (name) => json?.[name]),
  }
}

/** Parses a body. What is no integer in a field of int64s stays as it is, so that the check rejects it. */
function readBody(body: string, int64s: Int64s = {}): Readonly<Record<string, unknown>> {
  if (new Blob([body]).size > limits.bodyBytes) rejectRequest('bodyTooLarge')
  const json: unknown = orUndefined(() => readJson(body, int64s)) ?? orUndefined(() => JSON.parse(body))
  if (json === undefined) rejectRequest('malformedJson')
  return isObject(json) ? json : rejectRequest('invalidBody', 'The body must be an object')
}

/** Reads text as a value of a type. Text that is none stays text, so that the check rejects it. */
function readText(text: string, { types: [type] }: Rule): unknown {
  if (type === 'boolean' && /^(true|false)$/.test(text)) return text === 'true'
  if (!type?.startsWith('int') || !/^(0|-?[1-9]\d*)$/.test(text)) return text
  return type === 'int64' ? BigInt(text) : Number(text)
}

/** Checks the fields of a part of a request, and returns those that it has. Names all that are wrong, as the service does. */
function checkFields(error: ErrorName, rules: Rules, read: (name: string, rule: Rule) => unknown): object {
  const values = Object.entries(rules).map(([name, rule]) => [name, read(name, rule), rule] as const)
  const wrong = values.flatMap(([name, value, rule]) => {
    const reason = explain(value, rule)
    return reason ? [`${name}: ${reason}`] : []
  })
  const more = wrong.length > limits.issues ? [`and ${wrong.length - limits.issues} more`] : []
  if (wrong.length > 0) rejectRequest(error, [...wrong.slice(0, limits.issues), ...more].join('; '))
  return Object.fromEntries(values.filter(([, value]) => value !== undefined))
}

/** Returns what is wrong with a value, in the words of the service; undefined if nothing is. */
function explain(value: unknown, rule: Rule): string | undefined {
  const { required, types, message } = rule
  if (value === undefined) return required ? 'is required' : undefined
  if (!typesOf(value).some((type) => types.includes(type))) return message
  const inexact = typeof value === 'string' ? whyNotExact(value) : undefined
  return inexact ?? (value === null || isMatch(value, rule) ? undefined : message)
}

/** Lists the types of a value, as those of a rule. */
function typesOf(value: unknown): string[] {
  if (typeof value !== 'bigint' && !Number.isSafeInteger(value)) return [value === null ? 'null' : typeof value]
  return ['number', 'integer', ...(toInt64(value) === undefined ? [] : ['int64'])]
}

/** Whether a value has the size and the patterns of its rule. */
function isMatch(value: unknown, { minimum = -Infinity, maximum = Infinity, patterns }: Rule): boolean {
  const size = Object(value).length ?? value
  return size >= minimum && size <= maximum && patterns.every((pattern) => new RegExp(pattern, 'u').test(String(value)))
}
