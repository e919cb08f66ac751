// Generated from the contract by `npm run generate`. Do not edit.

import type { RawPage, RawResponse } from '../client.ts'
import type { DeclaredError, TransportError, UndeclaredError } from '../errors.ts'
import type { CallOptions } from '../options.ts'
import type { GetPlantsQuery, NewPlant, Plant } from './types.ts'

/** Every error of `createPlant`. Switch on `kind`. */
export type CreatePlantError =
  | DeclaredError<400 | 401 | 403 | 408 | 413 | 415 | 417 | 429 | 431 | 500 | 503>
  | UndeclaredError
  | TransportError

/** Every error of `getPlants`. Switch on `kind`. */
export type GetPlantsError =
  | DeclaredError<400 | 401 | 403 | 408 | 417 | 429 | 431 | 500 | 503>
  | UndeclaredError
  | TransportError

/** Every operation, as it is called directly. */
export interface Operations {
  /**
   * Creates a new plant in the store. It is always safe to retry: repeating an `id` with the same content gets a 200
   * with the same plant and adds nothing. Different content gets a 400 (40003). After a 5xx, or without a response,
   * the plant may be stored: send it again.
   *
   * Errors: `CreatePlantError`.
   */
  createPlant(body: NewPlant, options?: CallOptions): Promise<Plant>

  /**
   * Returns all plants from the system that the user has access to, in order of creation, as one JSON array. With
   * `limit` it returns one page and, if there are more, a `Link` header with `rel="next"` (RFC 8288). Plants that are
   * created while you page never shift a page.
   *
   * Errors: `GetPlantsError`.
   */
  getPlants(query?: GetPlantsQuery, options?: CallOptions): Promise<Plant[]>
}

/** What each operation takes. */
export interface OperationRequests {
  createPlant: { body: NewPlant }
  getPlants: { query: GetPlantsQuery }
}

/** The responses of each operation, as `raw` returns them. */
export interface OperationResponses {
  createPlant: RawResponse<Plant, 200>
  getPlants: RawPage<Plant[], 200>
}

/** The errors of each operation. */
export interface OperationErrors {
  createPlant: CreatePlantError
  getPlants: GetPlantsError
}

/** The operations that return pages. */
export type PagedOperationName = 'getPlants'
