import type { Scope } from '../generated/requests.ts'

// Apart from the functions, whose declarations have types that not every app has, such as `Headers`.

/** What goes wrong with a request. Without any of the fields, nothing does. */
export interface Fault {
  /** The delay of the response in milliseconds. Default: 0. */
  readonly delay?: number | undefined
  /** The request never arrives: `fetch` rejects, as if the connection was refused. */
  readonly connectionError?: true | undefined
  /** The store does nothing and responds with this status and an `Error` body. */
  readonly status?: number | undefined
  /** The body of the response, such as a proxy's HTML page. */
  readonly body?: string | undefined
  /** Additional response headers, such as `retry-after`. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The store handles the request, but the connection breaks after this many characters of the response body. */
  readonly cutBodyAfter?: number | undefined
}

/** A request that the fake received. */
export interface FakeRequest {
  readonly method: string
  readonly url: string
  /** Names in lower case, without `authorization`. */
  readonly headers: Readonly<Record<string, string>>
  /** The text of the body; empty if there is none. */
  readonly body: string
}

/** A plant in the fake. */
export interface StoredPlant {
  readonly id: bigint
  readonly name: string
  readonly tag?: string
}

/** What a token of the fake allows. */
export interface FakeToken {
  /** The account that the token belongs to. Default: `default`. */
  readonly account?: string | undefined
  /** Default: all. */
  readonly scopes?: readonly Scope[] | undefined
  /** Default: never. */
  readonly expiresAt?: Date | undefined
}
