import type { Caller } from '../../accounts/own-token.ts'

// What the middleware of this server leaves on a request for those that come after it.
declare global {
  namespace Express {
    interface Request {
      /** Names this request in the logs; it is answered as `X-Request-Id`. */
      requestId: string
      /** Who sends the request: set before an operation is called. */
      caller: Caller
    }
  }
}
