import { routes } from '../generated/routes.ts'
import type { Reader } from '../wire/read.ts'

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

/** A request of an operation. */
export interface Target {
  readonly name: keyof typeof routes
  /** The segments of the path, by the name of their parameter. */
  readonly segments: Readonly<Record<string, string>>
}

/** Finds the operation of a request. Like the service, it takes the first in the contract whose path fits. */
export function findOperation(method: string, path: string): Target | undefined {
  for (const [name, route] of Object.entries(routes)) {
    const pattern = route.path.replace(/[.]/g, '\\.').replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')
    const found = new RegExp(`^${pattern}$`).exec(path)
    if (!found || route.method !== method) continue
    const segments = Object.entries(found.groups ?? {}).map(([key, text]) => [key, decodeURIComponent(text)])
    return { name: name as Target['name'], segments: Object.fromEntries(segments) }
  }
  return undefined
}

/** Returns the name of a query parameter that was sent more than once but has one value. */
export function findDuplicate(forms: ParameterForms = {}, query: URLSearchParams): string | undefined {
  return Object.keys(forms).find((name) => typeof forms[name] === 'string' && query.getAll(name).length > 1)
}

/** Reads the values of a request that the client wrote. */
export function readValues(
  endpoint: Endpoint,
  {
    segments,
    query,
    headers,
    body,
  }: {
    segments: Target['segments']
    query: URLSearchParams
    headers: Headers
    body: string
  },
): ReceivedValues {
  return {
    path: readParameters(endpoint.path, (name) => [segments[name]]),
    query: readParameters(endpoint.query, (name) => query.getAll(name)),
    headers: readParameters(endpoint.headers, (name) => [headers.get(name) ?? undefined]),
    body: endpoint.body?.(body),
  }
}

function readParameters(forms: ParameterForms = {}, textsOf: (name: string) => (string | undefined)[]) {
  const values = Object.entries(forms).map(([name, form]) => {
    const texts = textsOf(name).filter((text) => text !== undefined)
    if (typeof form === 'string') return [name, texts[0] === undefined ? undefined : readScalar(texts[0], form)]
    return [name, texts.length > 0 ? texts.map((text) => readScalar(text, form[0])) : undefined]
  })
  return Object.fromEntries(values.filter(([, value]) => value !== undefined))
}

function readScalar(text: string, form: ParameterForm): unknown {
  if (form === 'int64') return BigInt(text)
  if (form === 'boolean') return text === 'true'
  // `Number` also reads empty text, spaces and exponents.
  if (form === 'integer' && !/^-?\d+$/.test(text)) return Number.NaN
  return form === 'text' ? text : Number(text)
}
