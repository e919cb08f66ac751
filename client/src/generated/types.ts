// Generated from the contract by `npm run generate`. Do not edit.

/**
 * The body sent to create a plant. Repeating an `id` with the same content gets a 200 with the same plant and adds
 * nothing. Another field is an error of the SDK.
 */
export interface NewPlant {
  /**
   * Identification number of the plant, unique within the account. An int64, exact over its whole range: write it as a
   * JSON number, with a serializer that does not round integers above 2^53.
   *
   * The SDK takes a bigint, a safe integer, or decimal digits as text.
   *
   * @example 1
   */
  id: bigint | number | string
  /**
   * The name of the plant. Any Unicode text, including empty text, within the body size limit; U+0000 and lone
   * surrogates are rejected.
   *
   * @example "Monstera deliciosa"
   */
  name: string
  /**
   * Tag that specifies the type of the plant: text as of `name`. A plant without a tag has no `tag` key; `null` is
   * invalid.
   *
   * @example "aroid"
   */
  tag?: string | undefined
}

/** The plant record returned by the service. It does not include `id`. */
export interface Plant {
  /**
   * The name of the plant. Any Unicode text, including empty text, within the body size limit; U+0000 and lone
   * surrogates are rejected.
   *
   * @example "Monstera deliciosa"
   */
  name: string
  /**
   * Tag that specifies the type of the plant: text as of `name`. A plant without a tag has no `tag` key; `null` is
   * invalid.
   *
   * @example "aroid"
   */
  tag?: string | undefined
}

/** The body of every error response, for any status and path. */
export interface ErrorBody {
  /**
   * Numeric error value: HTTP status x 100 + n.
   *
   * @example 40002
   */
  error: number
  /**
   * Error text: what is wrong and how to fix it. It may change, so branch on `error` instead.
   *
   * @example "name: is required"
   */
  message: string
}

/** The input of `getPlants`. Another field is an error of the SDK. */
export interface GetPlantsInput {
  /**
   * The number of plants per page, 1 to 1000. Default: the whole list.
   *
   * @example 100
   */
  limit?: number | undefined
  /**
   * Where the page starts: an opaque value from the `Link` header of the page before it (`nextCursor` or `endCursor` in
   * the SDK). It stays valid, and is the same text for the same place.
   */
  cursor?: string | undefined
}
