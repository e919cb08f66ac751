import { ApiError } from '../errors.ts'
import { type ErrorName, errorCodes, errorMessages, errorReasons } from '../generated/error-codes.ts'
import type { Operations } from '../generated/operations.ts'
import type { OperationName } from '../generated/routes.ts'
import type { Plant } from '../generated/types.ts'
import { readHead } from '../wire/response.ts'

/** A plant in the fake. */
export interface StoredPlant extends Plant {
  readonly id: bigint
}

/** A plant and its position in the list of its account, which no other one gets. */
type Row = StoredPlant & { readonly seq: number }

/** What the fake remembers of an account. */
export interface Account {
  /** Tells the cursors of accounts apart. */
  readonly number: number
  /** The plants by their ids, in order of creation. */
  readonly plants: Map<bigint, Row>
  lastSeq: number
}

/** How an operation responds, unless it throws an `ApiError`. */
export interface OperationResult<TBody> {
  /** The body of the success response; undefined: it has none. */
  readonly body: TBody
  /**
   * The fields of the input that the handler has not used: none. `({ limit, ...unused }) => ({ body, unused })` does
   * not compile until it takes each field out, so that none that is added to the contract is forgotten.
   */
  readonly unused: Readonly<Record<string, never>>
  /** Where the page ends: the cursor of what follows it, and whether anything does yet. Undefined: the body is no page. */
  readonly page?: { readonly endCursor: string; readonly hasNextPage: boolean } | undefined
}

/** Responds to the input of an operation, which was checked. */
export type Handler<TInput, TBody> = (input: TInput, account: Account) => OperationResult<TBody>

type Input<TName extends OperationName> = NonNullable<Parameters<Operations[TName]>[0]>

/** How the fake responds to every operation, by name. One without a handler does not compile. */
export const handlers: { [TName in OperationName]: Handler<Input<TName>, Awaited<ReturnType<Operations[TName]>>> } = {
  createPlant({ id, name, tag, ...unused }, account) {
    const key = BigInt(id)
    const added = { id: key, name, ...(tag !== undefined && { tag }), seq: ++account.lastSeq }
    const plant = account.plants.get(key) ?? added
    if (plant.name !== name || plant.tag !== tag) rejectRequest('idTaken')
    account.plants.set(key, plant)
    return { body: toBody(plant), unused }
  },

  getPlants({ limit, cursor, ...unused }, account) {
    const after = cursor === undefined ? 0 : readPosition(cursor, account.number)
    const rest = [...account.plants.values()].filter(({ seq }) => seq > after)
    const listed = rest.slice(0, limit)
    const isPart = limit !== undefined || cursor !== undefined
    const endCursor = `${account.number}:${listed.at(-1)?.seq ?? after}`
    const page = isPart ? { endCursor, hasNextPage: listed.length < rest.length } : undefined
    return { body: listed.map(toBody), page, unused }
  },
}

/** Returns the `seq` that a cursor of the fake stands for. Its plant may be deleted. */
function readPosition(cursor: string, account: number): number {
  const [, owner, seq] = /^(\d+):(\d+)$/.exec(cursor) ?? []
  if (Number(owner) !== account) rejectRequest('invalidQuery', errorMessages.invalidCursor)
  return Number(seq)
}

function toBody({ id: _, seq: __, ...shown }: Row): Plant {
  return shown
}

/** Rejects a request. The message is that of the error catalogue by default. */
export function rejectRequest(name: ErrorName, message = errorReasons[name]): never {
  const head = readHead({ status: statusOf(name), headers: new Headers() })
  throw new ApiError({ error: errorCodes[name], message }, head, {})
}

/** Returns the status of an error. */
export function statusOf(name: ErrorName): number {
  return Math.floor(errorCodes[name] / 100)
}
