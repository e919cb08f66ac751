/** A value that stands by itself: in a field, in the path or in the query. */
export type Scalar = 'int64' | 'integer' | 'number' | 'text' | 'boolean'

/** What may be sent: a scalar, a list of one shape, or an object whose fields with `?` at the end may be left out. */
export type Shape = Scalar | readonly [Shape] | { readonly [field: string]: Shape }

/** How an operation is sent and what it may answer. */
export interface Route {
  readonly method: string
  /** The path, its parameters as `{name}`. */
  readonly path: string
  readonly pathParameters?: Readonly<Record<string, Scalar>>
  readonly body?: Shape
  readonly query?: Readonly<Record<string, Scalar>>
  readonly answer: 'object' | 'list'
  readonly paged?: true
  /** The statuses of failure that the contract declares. */
  readonly declaredErrors: readonly number[]
}
