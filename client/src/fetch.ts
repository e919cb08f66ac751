// These types resolve to the runtime's own, so that they work with DOM types, with Node.js types and with neither.

/** The headers of a response: the part of `Headers` that every runtime has. */
export interface ResponseHeaders {
  /** Returns the value of a header, `null` if it is absent. Names are case-insensitive. */
  get(name: string): string | null
  has(name: string): boolean
  forEach(callback: (value: string, name: string) => void): void
}

/** The second argument of the runtime's own `fetch`. */
export type FetchInit = typeof globalThis extends { fetch: (url: never, init?: infer Init) => unknown }
  ? NonNullable<Init>
  : object

/** What a `fetch` resolves to: the part of `Response` that the client uses. */
export interface FetchResponse {
  readonly status: number
  readonly headers: ResponseHeaders
  /** The bytes, as a `ReadableStream`; anything else where `fetch` has no streams, as in React Native. */
  readonly body?: unknown
  text(): Promise<string>
}

/** A function that sends a request, like `fetch`. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>

/** The runtime's own `AbortSignal`. */
export type Signal = typeof globalThis extends { AbortSignal: { prototype: infer Instance } }
  ? Instance
  : { readonly aborted: boolean }

/** Headers by their names in lower case; `null` removes one. */
export type HeaderFields = Readonly<Record<string, string | null>>
