// Generated from the contract by `pnpm generate`. Do not edit.

import type { DeclaredError, TransportError, UndeclaredError } from '../errors.ts'
import type { CallOptions } from '../options.ts'
import type { RawAnswer, RawPage, Result } from '../results.ts'
import type { GetPlantsQuery, NewPlant, Plant } from './types.ts'

/** The name of an operation. */
export type OperationName = 'createPlant' | 'getPlants'

/** Everything that can go wrong with `createPlant`. Switch on `kind`. */
export type CreatePlantError =
  | DeclaredError<400 | 401 | 403 | 408 | 413 | 415 | 417 | 429 | 431 | 500 | 503 | 505>
  | UndeclaredError
  | TransportError

/** Everything that can go wrong with `getPlants`. Switch on `kind`. */
export type GetPlantsError =
  | DeclaredError<400 | 401 | 403 | 408 | 417 | 429 | 431 | 500 | 503 | 505>
  | UndeclaredError
  | TransportError

/** Every operation: it resolves to its answer and throws every failure. */
export interface DirectOperations {
  /**
   * Creates a new plant in the store. It is always safe to retry: repeating an `id` with the same content responds
   * 200 with the same plant and adds nothing. Different content is a 400 (40003).
   *
   * @throws {PlantStoreError} Whatever goes wrong: see `CreatePlantError`.
   */
  createPlant(body: NewPlant, options?: CallOptions): Promise<Plant>

  /**
   * Returns all plants from the system that the user has access to, in order of creation, as one JSON array. With
   * `limit` it returns one page and, if there are more, a `Link` header with `rel="next"` (RFC 8288). Plants that are
   * created while you page never shift a page.
   *
   * @throws {PlantStoreError} Whatever goes wrong: see `GetPlantsError`.
   */
  getPlants(query?: GetPlantsQuery, options?: CallOptions): Promise<Plant[]>
}

/** Every operation: it never throws, and a failure is a value. */
export interface SafeOperations {
  /**
   * Creates a new plant in the store. It is always safe to retry: repeating an `id` with the same content responds
   * 200 with the same plant and adds nothing. Different content is a 400 (40003).
   *
   * Never throws: a failure is `{ ok: false, error }`.
   */
  createPlant(body: NewPlant, options?: CallOptions): Promise<Result<Plant, CreatePlantError>>

  /**
   * Returns all plants from the system that the user has access to, in order of creation, as one JSON array. With
   * `limit` it returns one page and, if there are more, a `Link` header with `rel="next"` (RFC 8288). Plants that are
   * created while you page never shift a page.
   *
   * Never throws: a failure is `{ ok: false, error }`.
   */
  getPlants(query?: GetPlantsQuery, options?: CallOptions): Promise<Result<Plant[], GetPlantsError>>
}

/** Every operation, with the status and the headers beside the data. */
export interface RawOperations {
  /**
   * Creates a new plant in the store. It is always safe to retry: repeating an `id` with the same content responds
   * 200 with the same plant and adds nothing. Different content is a 400 (40003).
   *
   * The answer comes with its status and headers. Throws as the direct call does.
   */
  createPlant(body: NewPlant, options?: CallOptions): Promise<RawAnswer<Plant>>

  /**
   * Returns all plants from the system that the user has access to, in order of creation, as one JSON array. With
   * `limit` it returns one page and, if there are more, a `Link` header with `rel="next"` (RFC 8288). Plants that are
   * created while you page never shift a page.
   *
   * The answer comes with its status and headers. Throws as the direct call does.
   */
  getPlants(query?: GetPlantsQuery, options?: CallOptions): Promise<RawPage<Plant[]>>
}

/** Every operation that pages, as a loop over all that it lists. */
export interface IterateOperations {
  /**
   * Returns all plants from the system that the user has access to, in order of creation, as one JSON array. With
   * `limit` it returns one page and, if there are more, a `Link` header with `rel="next"` (RFC 8288). Plants that are
   * created while you page never shift a page.
   *
   * A page is fetched when the loop reaches it; where the loop ends, nothing more is fetched. Without `limit`, pages
   * of 100. Throws inside the loop, as the direct call does.
   */
  getPlants(query?: GetPlantsQuery, options?: CallOptions): AsyncGenerator<Plant, void, undefined>
}
