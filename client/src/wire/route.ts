/** A single value, in a field, the path or the query. */
export type Scalar = 'int64' | 'integer' | 'number' | 'text' | 'boolean'

/** The shape of a request body: a scalar, a list of one shape, or an object whose optional fields end with `?`. */
export type Shape = Scalar | readonly [Shape] | { readonly [field: string]: Shape }

/** How to send an operation, and how the service may respond. */
export interface Route {
  readonly method: string
  /** The path, with its parameters as `{name}`. */
  readonly path: string
  readonly pathParameters?: Readonly<Record<string, Scalar>>
  readonly body?: Shape
  readonly query?: Readonly<Record<string, Scalar>>
  readonly response: 'object' | 'list'
  readonly paged?: true
  /** The error statuses that the contract declares. */
  readonly declaredErrors: readonly number[]
}
