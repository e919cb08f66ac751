import { RequestError } from '../errors.ts'
import type { ResponseHeaders } from '../fetch.ts'
import type { ErrorName } from '../generated/error-codes.ts'
import { routes } from '../generated/routes.ts'
import type { Reader } from '../wire/read.ts'
import type { Writer } from '../wire/write-scalar.ts'

/** The form of a parameter, which arrives as text; in a list if it may be repeated. */
type ParameterForm = 'text' | 'int64' | 'integer' | 'number' | 'boolean' | readonly [ParameterForm]

/** The parameters of one place, by name. */
type ParameterForms = Readonly<Record<string, ParameterForm>>

/** How a service reads an operation. */
export interface Endpoint {
  /** The scope that a token must have. */
  readonly scope: string
  readonly body?: Reader
  readonly path?: ParameterForms
  readonly query?: ParameterForms
  readonly headers?: ParameterForms
}

/** The values of a request, each only if the operation has it. An int64 is a `bigint`. */
export interface ReceivedValues {
  readonly path: Readonly<Record<string, unknown>>
  readonly query: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: unknown
}

/** An operation whose path fits a request. */
export interface Target {
  readonly name: keyof typeof routes
  /** The segments of the path, by the name of their parameter. */
  readonly segments: Readonly<Record<string, string>>
}

/** The service reads at most nine digits, and what is longer without zeros at the front is out of range anyway. */
const INTEGER = /^-?(?:\d{1,9}|[1-9]\d{9,14})$/
/** How deep the service lets JSON be nested. */
const MAX_DEPTH = 100

/** A value that the service rejects. The client does not send it, but a request that a test makes itself may. */
export class InvalidValue extends Error {
  readonly reason: ErrorName

  constructor(reason: ErrorName, message?: string) {
    super(message)
    this.reason = reason
  }
}

/** Finds the operations of a path, in the order of the contract: the service takes the first with the right method. */
export function findOperations(path: string): Target[] {
  return Object.entries(routes).flatMap(([name, route]) => {
    const pattern = route.path.replace(/[.]/g, '\\.').replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')
    const found = new RegExp(`^${pattern}$`).exec(path)
    return found ? [{ name: name as Target['name'], segments: { ...found.groups } }] : []
  })
}

/** The part of `URLSearchParams` that is read: a program without platform types does not know that. */
interface QueryTexts {
  getAll(name: string): string[]
}

/**
 * Reads the values of a request.
 *
 * @throws InvalidValue
 */
export function readValues(
  endpoint: Endpoint,
  {
    operation: { name, segments },
    query,
    headers,
    body,
  }: {
    operation: Target
    query: QueryTexts
    headers: ResponseHeaders
    body: string
  },
): ReceivedValues {
  const { body: write } = routes[name]
  return {
    path: readParameters(endpoint.path, (parameter) => [decode(segments[parameter] ?? '')], 'notFound'),
    query: readParameters(endpoint.query, (parameter) => query.getAll(parameter), 'invalidQuery'),
    headers: readParameters(
      endpoint.headers,
      (parameter) => [headers.get(parameter)].filter((text) => text !== null),
      'badRequest',
    ),
    body: endpoint.body && write && readBody(body, endpoint.body, write),
  }
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw new InvalidValue('notFound')
  }
}

/** Reads a body. It is valid if the client could send it, and written by the client it has no unknown fields. */
function readBody(text: string, read: Reader, write: Writer): unknown {
  try {
    checkStructure(text)
    return read(write(read(text), ''))
  } catch (error) {
    if (error instanceof InvalidValue) throw error
    if (error instanceof SyntaxError) throw new InvalidValue('malformedJson')
    throw new InvalidValue('invalidBody', error instanceof RequestError ? error.message : undefined)
  }
}

/** Rejects JSON that is nested too deep or has a duplicate key. What is not JSON at all may pass. */
function checkStructure(json: string): void {
  const keys: Set<unknown>[] = []
  let [start, end] = [0, 0]
  let isInString = false
  for (const { 0: token, index } of json.matchAll(/\\["\\]|[":[\]{}]/g)) {
    if (token === '"') {
      isInString = !isInString
      if (isInString) start = index
      else end = index + 1
    }
    if (isInString) continue
    if (token === '{' || token === '[') keys.unshift(new Set())
    if (token === '}' || token === ']') keys.shift()
    if (keys.length > MAX_DEPTH) throw new InvalidValue('malformedJson')
    if (token !== ':') continue
    const key = JSON.parse(json.slice(start, end))
    if (keys[0]?.has(key)) throw new InvalidValue('malformedJson')
    keys[0]?.add(key)
  }
}

function readParameters(forms: ParameterForms = {}, textsOf: (name: string) => string[], reason: ErrorName) {
  const values = Object.entries(forms).flatMap(([name, form]) => {
    const texts = textsOf(name)
    if (texts.length === 0) return []
    if (typeof form !== 'string') return [[name, texts.map((text) => readScalar(text, form[0], name, reason))]]
    if (texts.length > 1) throw new InvalidValue(reason, `${name}: must appear only once`)
    return [[name, readScalar(texts[0] ?? '', form, name, reason)]]
  })
  return Object.fromEntries(values)
}

function readScalar(text: string, form: ParameterForm, name: string, reason: ErrorName): unknown {
  if (form === 'text') return text
  if (form === 'boolean' && /^(true|false)$/.test(text)) return text === 'true'
  if (form === 'int64' && /^-?\d{1,19}$/.test(text)) return BigInt(text)
  // The handler has to reject numbers out of range, and NaN with them.
  if (form === 'integer') return INTEGER.test(text) ? Number(text) : Number.NaN
  if (form === 'number') return text === '' ? Number.NaN : Number(text)
  throw new InvalidValue(reason, `${name}: must be ${form === 'boolean' ? 'true or false' : 'an integer (int64)'}`)
}
