/** What shall go wrong with a request. Everything left out goes as it does without trouble. */
export interface Trouble {
  /** How long the answer takes, in milliseconds. Default: 0. */
  readonly delay?: number | undefined
  /** The request never arrives: `fetch` rejects, as it does where nobody listens. */
  readonly connectionError?: true | undefined
  /** The store does nothing and answers this status, with an `Error` body. */
  readonly status?: number | undefined
  /** The body of the answer, such as a proxy's HTML page. */
  readonly body?: string | undefined
  /** Headers to add to the answer, such as `retry-after`. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The store does its work, but the connection breaks after so many characters of the body. */
  readonly cutBodyAfter?: number | undefined
}
