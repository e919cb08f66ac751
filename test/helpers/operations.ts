/** What tests know of each operation: a file of `test/operations` has its name, and holds its cases. */
import { hash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { type Contract, contract, type NewPlant, type OperationMetadata } from '@plant-store/contract'

/** The plant that an account has before each request of a test. A response with another id would be one that was rounded. */
export const FICUS = { id: 9007199254740993n, name: 'Ficus', tag: 'fig' }

/** The cases of an operation. A body is a value with int64s as integers, or undefined if there is none. */
export interface OperationCases {
  /** The input of a successful call, as the SDK takes it: what path, query and body are made of. */
  readonly input: Readonly<Record<string, unknown>>
  /** The body of its response. */
  readonly response: unknown
  /**
   * More requests, each with the text of a body, if it has one, and the response: its body, `undefined` for none,
   * or the number of an `Error`; then the plants that the account has, in order of creation, by default FICUS.
   * `<cursor>` is that of another account. The conformance suite derives others from the contract.
   *
   * A paged operation has a list of several plants, which the suite pages, and one by each filter that leaves out others:
   * the last one, so that no page follows for its sake.
   */
  readonly requests: readonly RequestCase[]
}

/** A request of a test, and its response. */
export type RequestCase = readonly [
  what: string,
  request: string,
  body: string,
  response: unknown,
  plants?: readonly NewPlant[] | undefined,
]

/** A request of a whole list of several plants. */
type ListCase = readonly [what: string, target: string, response: readonly unknown[], plants: readonly NewPlant[]]

/** A request as the text of its parts. */
export interface OperationRequest {
  readonly method: string
  readonly target: string
  /** Undefined: there is none. */
  readonly body: string | undefined
}

/** What the requests of a test need of an operation of the contract. */
interface Route {
  readonly method: string
  readonly path: string
  readonly query?: { readonly shape: object }
  readonly metadata: OperationMetadata
}

const folder = new URL('../operations/', import.meta.url)
const files = readdirSync(folder).map((file) => file.replace('.ts', ''))
const names = Object.keys(contract) as (keyof Contract)[]

/** The cases of every operation, with the request of its input. */
export const operations = await Promise.all(
  names.map(async (name) => {
    if (!files.includes(name)) throw new Error(`Describe the requests of ${name} in test/operations/${name}.ts`)
    const { cases } = (await import(`../operations/${name}.ts`)) as { cases: OperationCases }
    const route: Route = contract[name]
    return { name, ...cases, request: writeRequest(route, cases.input), lists: findLists(name, route, cases) }
  }),
)

/** Finds the requests of whole lists of a paged operation. Throws if a filter has none. */
function findLists(name: string, { query, metadata }: Route, { requests }: OperationCases): ListCase[] {
  if (!metadata.paged) return []
  const lists = requests.flatMap(([what, request, , response, plants = [FICUS]]): ListCase[] => {
    const [, target = ''] = request.split(' ')
    return Array.isArray(response) && response.length > 1 ? [[what, target, response, plants]] : []
  })
  const filters = Object.keys(query?.shape ?? {}).filter((parameter) => !['limit', 'cursor'].includes(parameter))
  for (const filter of ['', ...filters]) {
    const isListed = lists.some(([, target, response, plants]) =>
      filter === ''
        ? !target.includes('?')
        : new RegExp(`[?&]${filter}=`).test(target) && response.length < plants.length,
    )
    if (isListed) continue
    const what = filter
      ? `a list of several plants by ${filter}, which leaves out the last`
      : 'a list of several plants'
    throw new Error(`Add ${what}, to test/operations/${name}.ts`)
  }
  return lists
}

/** Writes the request of an input. */
function writeRequest(
  { method, path: pattern, query: parameters }: Route,
  input: OperationCases['input'],
): OperationRequest {
  const left = new Map(Object.entries(input))
  const take = (name: string) => {
    const value = left.get(name)
    left.delete(name)
    return value
  }
  const path = pattern.replace(/:(\w+)/g, (_, name) => encodeURIComponent(String(take(name))))
  const query = Object.keys(parameters?.shape ?? {}).flatMap((name) =>
    [take(name) ?? []].flat().map((value): [string, string] => [name, String(value)]),
  )
  const target = query.length === 0 ? path : `${path}?${new URLSearchParams(query)}`
  return { method, target, body: left.size === 0 ? undefined : stringify(Object.fromEntries(left)) }
}

/** Writes JSON in which a bigint is an exact number, with the white space that `JSON.stringify` takes. */
export function stringify(value: unknown, space = ''): string | undefined {
  const { rawJSON } = JSON as typeof JSON & { rawJSON(text: string): unknown }
  return JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? rawJSON(String(each)) : each), space)
}

/**
 * Reads JSON exactly: an integer becomes a bigint. Empty text is undefined. Of a long text, which would fill the output
 * of a test that fails, only the start, the length and the hash are left.
 */
export function parse(text: string | undefined): unknown {
  const read = (_: string, value: unknown, { source = '' }: { source?: string } = {}) => {
    if (typeof value === 'string') return shorten(value)
    return typeof value === 'number' && /^-?\d+$/.test(source) ? BigInt(source) : value
  }
  return text ? (JSON.parse as (text: string, read: unknown) => unknown)(text, read) : undefined
}

/** Cuts a long text, such that another one still differs. */
function shorten(text: string): string {
  return text.length > 300 ? `${text.slice(0, 50)}… ${text.length} characters, SHA-1 ${hash('sha1', text)}` : text
}
