// Generated from the contract by `npm run generate`. Do not edit.

import type { CallOptions } from '../options.ts'
import type { ErrorBody, GetPlantsInput, NewPlant, Plant } from './types.ts'

/** Every operation, as it is called directly. */
export interface Operations {
  /**
   * Creates a new plant in the store. Repeating an `id` with the same content gets a 200 with the same plant and adds
   * nothing. Different content gets a 400 (40003).
   *
   * After a connection error, a timeout or a 5xx, send the request again: what was processed has no further effect.
   */
  createPlant(input: NewPlant, options?: CallOptions): Promise<Plant>

  /**
   * Returns all plants from the system that the user has access to, in order of creation, as one JSON array. With
   * `limit` it returns one page, with a `Link` header (RFC 8288): `rel="next"` leads to the next page, if there is
   * one, and `rel="end"` to what follows this page, now or later: poll it for new plants. Plants that are created
   * while you page never shift a page. With the `ETag` of an earlier response in `If-None-Match` it returns a 304 if
   * that list or page is still the same.
   */
  getPlants(input?: GetPlantsInput, options?: CallOptions): Promise<Plant[]>
}

/** The operations that return pages. */
export type PagedOperationName = 'getPlants'

/** The operations that may respond 304 to a condition. */
export type ConditionalOperationName = 'getPlants'
