import { ApiError } from '../errors.ts'
import { type ErrorName, errorCodes, errorReasons } from '../generated/error-codes.ts'
// biome-ignore lint/suspicious/noImportCycles: what is generated takes only types from here.
import { requestRules } from '../generated/requests.ts'
import { type OperationName, routes } from '../generated/routes.ts'
import { type Int64s, readJson } from '../wire/json.ts'
import { readHead } from '../wire/response.ts'
import { isObject, orUndefined, requireKnown } from '../wire/values.ts'

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

/** The largest body of the service, in bytes. */
const MAX_BODY_BYTES = 100 * 1024

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
  const isTooLarge = new Blob([body]).size > MAX_BODY_BYTES
  if (isTooLarge) reject('bodyTooLarge', `The body is larger than ${MAX_BODY_BYTES} bytes. Send a smaller one.`)
  const json: unknown = orUndefined(() => readJson(body, int64s)) ?? orUndefined(() => JSON.parse(body))
  if (json === undefined) reject('malformedJson')
  return isObject(json) ? json : reject('invalidBody', 'The body must be an object')
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
  const more = wrong.length > MAX_ISSUES ? [`and ${wrong.length - MAX_ISSUES} more`] : []
  if (wrong.length > 0) reject(error, [...wrong.slice(0, MAX_ISSUES), ...more].join('; '))
  return Object.fromEntries(values.filter(([, value]) => value !== undefined))
}

/** How many invalid fields a message of the service names. */
const MAX_ISSUES = 3

/** Explains what is wrong with a value at a path, in the words of the service; empty if nothing is. */
function explain(path: string, value: unknown, rule: Rule): string[] {
  const { required, isNullable, type, values = [value], items, minimum = -Infinity, maximum = Infinity, message } = rule
  if (value === undefined) return required ? [`${path}: is required`] : []
  if (value === null && isNullable) return []
  if (value === REPEATED) return [`${path}: must appear only once`]
  if (items && Array.isArray(value)) return value.flatMap((item, index) => explain(`${path}.${index}`, item, items))
  const isInteger = typeof value === 'bigint' || Number.isSafeInteger(value)
  const isOfType = type === 'integer' ? isInteger : typeof value === type
  // Exact also where one is a bigint and the other is not.
  const isInRange = !((value as bigint) < minimum) && !((value as bigint) > maximum)
  if (!isOfType || !isInRange || !values.includes(value)) return [`${path}: ${message}`]
  const isSafe = typeof value !== 'string' || !/[\0\uD800-\uDFFF]/u.test(value)
  return isSafe ? [] : [`${path}: must not contain U+0000 or a lone surrogate`]
}

/** Rejects a request. */
export function reject(name: ErrorName, message?: string, headers?: ApiErrorOptions['headers']): never {
  throw createApiError({ name, message, headers })
}

/** What an error of {@link createApiError} has. */
export interface ApiErrorOptions {
  /** The name of the error in `errorCodes`, which decides about the status and the code. */
  readonly name: ErrorName
  /** The text of the service. Default: the reason in the error catalogue. */
  readonly message?: string | undefined
  /** Additional response headers, such as `retry-after` or `x-request-id`, which is random by default. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/**
 * Creates the error that a client throws when the service responds with an error of the catalogue, for
 * tests that replace the client.
 *
 * @throws {UsageError} An option is unknown.
 *
 * @example
 * const createPlant = vi.fn().mockRejectedValue(createApiError({ name: 'idTaken' }))
 */
export function createApiError(options: ApiErrorOptions): ApiError {
  requireKnown(options, ['name', 'message', 'headers'], 'options')
  const { name, message = errorReasons[name], headers } = options
  const code = errorCodes[name]
  const all = new Headers({ 'x-request-id': createRequestId(), ...headers })
  const head = readHead({ status: Math.floor(code / 100), headers: all })
  return new ApiError({ error: code, message }, head, { attempts: 1 })
}

/** Creates a request id. */
export function createRequestId(): string {
  return `fake-${Math.random().toString(36).slice(2)}`
}
