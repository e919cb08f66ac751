// Generated from the contract by `pnpm generate`. Do not edit.

/**
 * The body sent to create a plant. Unknown fields are ignored; a key given twice is refused. The same `id` with the same content again answers 200 with the same plant and adds nothing.
 */
export interface NewPlant {
  /**
   * Identification number of the plant, unique within the account. An int64, exact over its whole range: write it as a JSON number, with a serializer that does not round above 2^53.
   *
   * @example 1
   */
  id: number | bigint
  /**
   * The name of the plant. Any Unicode text, also empty, as long as the request body stays within the size limit.
   *
   * @example "Monstera deliciosa"
   */
  name: string
  /**
   * Tag that specifies the type of the plant. Left out, never null, where a plant has none.
   *
   * @example "aroid"
   */
  tag?: string | undefined
}

/**
 * The plant record returned by the service. It does not carry `id`.
 */
export interface Plant {
  /**
   * The name of the plant. Any Unicode text, also empty, as long as the request body stays within the size limit.
   *
   * @example "Monstera deliciosa"
   */
  name: string
  /**
   * Tag that specifies the type of the plant. Left out, never null, where a plant has none.
   *
   * @example "aroid"
   */
  tag?: string | undefined
}

/**
 * The body of every failure, of any status on any path.
 */
export interface ErrorBody {
  /**
   * Numeric error value: a number of the error catalogue, HTTP status x 100 + n.
   *
   * @example 40002
   */
  error: number
  /**
   * Error text for people: what was wrong and what to mend. It may change; decide by `error`.
   *
   * @example "name: is required"
   */
  message: string
}

/**
 * The query of `getPlants`.
 */
export interface GetPlantsQuery {
  /**
   * The number of plants on a page, 1 to 1000. Left out, the whole list is the answer.
   */
  limit?: number | undefined
  /**
   * Where the page begins: taken from the `Link` header of the page before, and otherwise opaque.
   */
  cursor?: string | undefined
}
