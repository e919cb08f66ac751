/** What tests know of each operation: a file of `test/operations` has its name, and holds its cases. */
import { readdirSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { type Contract, contract, type NewPlant, type OperationMetadata } from '@plant-store/contract'

/** A plant that an account has before each request of a test. A response with another id would be one that was rounded. */
export const FICUS = { id: 9007199254740993n, name: 'Ficus', tag: 'fig' }
/** What an account has before each request of a test: two, of which a change of one must leave the other in its place. */
export const PLANTS: readonly NewPlant[] = [FICUS, { id: 3n, name: 'Fern' }]

/** The cases of an operation. A body is a value with int64s as integers, or undefined if there is none. */
export interface OperationCases {
  /** The input of a successful call, as the SDK takes it: what path, query and body are made of. */
  readonly input: Readonly<Record<string, unknown>>
  /**
   * The requests, first that of the input: each with the text of a body, if it has one, and the response: its body,
   * `undefined` for none, or the number of an `Error`. `<cursor>` is that of another account. The conformance suite derives
   * others from the contract.
   *
   * An operation with the scope `write` changes plants in one of them. A paged one has a list of several
   * plants, which the suite pages, and one by each filter that leaves out others: the last one, so that no page follows
   * for its sake.
   */
  readonly requests: readonly RequestCase[]
}

/** A request of a test, and its response. */
export type RequestCase = readonly [
  what: string,
  request: string,
  body: string,
  response: unknown,
  plants?: Change | undefined,
]

/** The plants of the account before and after a request. */
interface Change {
  /** What is created first, in order. Default: {@link PLANTS}. */
  readonly before?: Plants
  /** What is stored afterwards. Default: the plants before it. */
  readonly after?: Plants
}

/** All fields of the plants as they are stored, also those that no list shows, in order of creation. */
type Plants = readonly (NewPlant & Readonly<Record<string, unknown>>)[]

/** A request of a test, with all that it needs: the requests before it, and the plants that are stored before and afterwards. */
export type TestRequest = ReturnType<typeof completeCase>

/** The fields of plants, by their names. */
export type StoredPlants = readonly Readonly<Record<string, string>>[]

/** What the requests of a test need of an operation of the contract. */
interface Route {
  readonly query?: { readonly shape: object }
  readonly metadata: OperationMetadata
}

const folder = new URL('../operations/', import.meta.url)
const files = readdirSync(folder).map((file) => file.replace('.ts', ''))
const names = Object.keys(contract) as (keyof Contract)[]

/** The cases of every operation. */
export const operations = await Promise.all(
  names.map(async (name) => {
    if (!files.includes(name)) throw new Error(`Describe the requests of ${name} in test/operations/${name}.ts`)
    const { cases } = (await import(`../operations/${name}.ts`)) as { cases: OperationCases }
    const route: Route = contract[name]
    const requests = cases.requests.map(completeCase)
    requireChange(name, route, requests)
    return { name, input: cases.input, requests, lists: findLists(name, route, requests) }
  }),
)

/** Adds to a request of a test what it has by default. */
export function completeCase([what, request, body, response, change = {}]: RequestCase) {
  const { before = PLANTS, after = before } = change
  const first = before.map((plant) => ['POST /plants', String(stringify(plant))] as const)
  return { what, request, body, response, first, before, after }
}

/** Throws if no request of an operation that writes changes plants, or one of an operation that reads does. */
function requireChange(name: string, { metadata: { scope } }: Route, requests: readonly TestRequest[]): void {
  const isChanged = requests.some(({ before, after }) => !isDeepStrictEqual(asStored(before), asStored(after)))
  if (isChanged && scope === 'read') throw new Error(`${name} changes plants: it needs the scope write`)
  if (isChanged || scope === 'read') return
  throw new Error(`Add a request that changes plants, with those "after" it, to test/operations/${name}.ts`)
}

/** Writes the fields of plants as text, the same of both engines and of the fake: a Boolean is 0 or 1, NULL is no field. */
export function asStored(plants: readonly object[]): StoredPlants {
  const toText = (value: unknown) => String(typeof value === 'boolean' ? Number(value) : value)
  return plants.map((plant) => {
    const fields = Object.entries(plant).filter(([, value]) => value !== null && value !== undefined)
    return Object.fromEntries(fields.map(([field, value]) => [field, toText(value)]))
  })
}

/** Finds the requests of whole lists of a paged operation. Throws if a filter has none. */
function findLists(name: string, { query, metadata }: Route, requests: readonly TestRequest[]): TestRequest[] {
  if (!metadata.paged) return []
  const lists = requests.filter(({ response }) => Array.isArray(response) && response.length > 1)
  const filters = Object.keys(query?.shape ?? {}).filter((parameter) => !['limit', 'cursor'].includes(parameter))
  for (const filter of ['', ...filters]) {
    const isListed = lists.some(({ request, response, after }) =>
      filter === ''
        ? !request.includes('?')
        : new RegExp(`[?&]${filter}=`).test(request) && (response as unknown[]).length < after.length,
    )
    if (isListed) continue
    const what = filter
      ? `a list of several plants by ${filter}, which leaves out the last`
      : 'a list of several plants'
    throw new Error(`Add ${what}, to test/operations/${name}.ts`)
  }
  return lists
}

/** Writes JSON in which a bigint is an exact number, with the white space that `JSON.stringify` takes. */
export function stringify(value: unknown, space = ''): string | undefined {
  const { rawJSON } = JSON as typeof JSON & { rawJSON(text: string): unknown }
  return JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? rawJSON(String(each)) : each), space)
}

/** Reads JSON exactly: an integer becomes a bigint. Empty text is undefined. */
export function parse(text: string | undefined): unknown {
  const read = (_: string, value: unknown, { source = '' }: { source?: string } = {}) => {
    return typeof value === 'number' && /^-?\d+$/.test(source) ? BigInt(source) : value
  }
  return text ? (JSON.parse as (text: string, read: unknown) => unknown)(text, read) : undefined
}

/** Returns what arrives of a value as JSON, with a bigint for each integer. */
export function exact(value: unknown): unknown {
  return parse(stringify(value))
}
