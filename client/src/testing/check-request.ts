import { ApiError } from '../errors.ts'
import { type ErrorName, errorCodes, errorMessages, errorReasons, limits } from '../generated/error-codes.ts'
// biome-ignore lint/suspicious/noImportCycles: what is generated takes only types from here.
import { requestRules } from '../generated/requests.ts'
import { type OperationName, routes } from '../generated/routes.ts'
import { isObject, orUndefined } from '../values.ts'
import { type Int64s, readJson, whyNotExact } from '../wire/json.ts'
import { readHead } from '../wire/response.ts'

/** A scope of a token. */
export type Scope = 'read' | 'write'

/** What the service accepts as the value of a field. */
interface Rule {
  readonly required?: boolean
  readonly type: string
  readonly isNullable?: boolean
  readonly values?: readonly unknown[]
  readonly items?: Rule
  readonly minimum?: number | bigint
  readonly maximum?: number | bigint
  /** What it says about another value. */
  readonly message: string
}

/** The scope that an operation needs, and the fields of each part of its request. */
export interface RequestRules extends Readonly<Record<'path' | 'query' | 'body', Readonly<Record<string, Rule>>>> {
  readonly scope: Scope
}

/**
 * Checks the parts of a request, and reads the input of an operation from them.
 *
 * @throws {ApiError} of the first part that is invalid, with all that is wrong in it
 */
export function readInput(
  operation: OperationName,
  segments: Readonly<Record<string, string>>,
  query: string,
  body: string,
): object {
  const rules = requestRules[operation]
  const parameters = new URLSearchParams(query)
  const { body: isSent, int64s } = routes[operation]
  const json = isSent && readBody(body, int64s)
  return {
    // A malformed escape becomes U+0000, which is invalid in every path.
    ...check('notFound', rules.path, (name, rule) =>
      readText(orUndefined(() => decodeURIComponent(segments[name] ?? '')) ?? '\0', rule),
    ),
    ...check('invalidQuery', rules.query, (name, rule) => {
      const values = parameters.getAll(name).map((text) => readText(text, rule.items ?? rule))
      return rule.items && values.length > 0 ? values : values.length > 1 ? REPEATED : values[0]
    }),
    ...check('invalidBody', rules.body, (name) => json?.[name]),
  }
}

/** Stands for a parameter that was sent twice. */
const REPEATED = Symbol('repeated')

/** Parses a body. What is no integer at the place of an int64 stays as it is, so that the check rejects it. */
function readBody(body: string, int64s: Int64s = {}): Readonly<Record<string, unknown>> {
  if (new Blob([body]).size > limits.bodyBytes) rejectRequest('bodyTooLarge', errorMessages.bodyTooLarge)
  const json: unknown = orUndefined(() => readJson(body, int64s)) ?? orUndefined(() => JSON.parse(body))
  if (json === undefined) rejectRequest('malformedJson')
  return isObject(json) ? json : rejectRequest('invalidBody', 'The body must be an object')
}

/** Reads text as a value of a type. Text that is none stays text, so that the check rejects it. */
function readText(text: string, { type }: Rule): unknown {
  if (type === 'boolean' && /^(true|false)$/.test(text)) return text === 'true'
  if (type !== 'integer' || !/^(0|-?[1-9]\d*)$/.test(text)) return text
  return Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text)
}

/**
 * Checks the fields of a part of a request, and returns those that it has. Names all that are
 * wrong, as the service does.
 */
function check(
  error: ErrorName,
  rules: Readonly<Record<string, Rule>>,
  read: (name: string, rule: Rule) => unknown,
): object {
  const values = Object.entries(rules).map(([name, rule]) => [name, read(name, rule), rule] as const)
  const wrong = values.flatMap(([name, value, rule]) => explain(name, value, rule))
  const more = wrong.length > limits.issues ? [`and ${wrong.length - limits.issues} more`] : []
  if (wrong.length > 0) rejectRequest(error, [...wrong.slice(0, limits.issues), ...more].join('; '))
  return Object.fromEntries(values.filter(([, value]) => value !== undefined))
}

/** Explains what is wrong with a value at a path, in the words of the service; empty if nothing is. */
function explain(path: string, value: unknown, rule: Rule): string[] {
  const { required, isNullable, type, values = [value], items, minimum = -Infinity, maximum = Infinity, message } = rule
  if (value === undefined) return required ? [`${path}: is required`] : []
  if (value === null && isNullable) return []
  if (value === REPEATED) return [`${path}: ${errorMessages.duplicateParameter}`]
  if (items && Array.isArray(value)) return value.flatMap((item, index) => explain(`${path}.${index}`, item, items))
  const isInteger = typeof value === 'bigint' || Number.isSafeInteger(value)
  const isOfType = type === 'integer' ? isInteger : typeof value === type
  // Exact also where one is a bigint and the other is not.
  const isInRange = !((value as bigint) < minimum) && !((value as bigint) > maximum)
  if (!isOfType || !isInRange || !values.includes(value)) return [`${path}: ${message}`]
  const reason = typeof value === 'string' && whyNotExact(value)
  return reason ? [`${path}: ${reason}`] : []
}

/** Rejects a request. The message is that of the error catalogue by default. */
export function rejectRequest(name: ErrorName, message = errorReasons[name], headers = {}): never {
  const all = new Headers({ 'x-request-id': createRequestId(), ...headers })
  throw new ApiError({ error: errorCodes[name], message }, readHead({ status: statusOf(name), headers: all }), {})
}

/** Returns the status of an error. */
export function statusOf(name: ErrorName): number {
  return Math.floor(errorCodes[name] / 100)
}

/** Creates a request id. */
export function createRequestId(): string {
  return `fake-${Math.random().toString(36).slice(2)}`
}
