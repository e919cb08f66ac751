/** What the steps of a request hand to one another: it is declared here, and nowhere else. */
import type { Scope } from '@plant-store/contract'
import type { RequestInFlight } from '../connections/waiting-requests.ts'

/** Who sends a request. */
export interface Identity {
  /** The account whose plants it sees and creates. */
  account: string
  /** Names its token in rate limits and in the log: an own token's id, or a JSON Web Token's issuer and subject. */
  tokenId: string
  scopes: readonly Scope[]
}

/** What the steps of a request hand to one another. */
export interface RequestContext {
  /** Names it in the log; it is also the header `X-Request-Id` of the response. */
  readonly requestId: string
  /** Its place among the requests in flight: set before any check. */
  inFlight: RequestInFlight
  /** The known path that it matches, of the contract or the docs, such as `/plants`; undefined: none. */
  path?: string
  /** Who sends it: set before an operation is called. */
  identity: Identity
  /** The `ETag` of a success; undefined: it has none. */
  etag?: string
  /** Its `Link`; undefined: it is no page. */
  link?: string
  /** The code of the `Error` body of its response; undefined: it has none. */
  errorCode?: number
}

declare module 'node:http' {
  interface IncomingMessage {
    /** Set as soon as the request has arrived. */
    context: RequestContext
  }
}
