/** What happens to requests and writes, which the log and the metrics listen to. */
import { EventEmitter } from 'node:events'

/** nginx's status for a client that disconnects before its response; only logs and metrics see it. */
export const CLIENT_CLOSED_REQUEST = 499

/** A request that has got its response, or whose connection has closed before. */
export interface RequestEnded {
  readonly method: string
  /** As it was requested. */
  readonly path: string
  /** The known path that it matches; undefined: none. */
  readonly route: string | undefined
  readonly status: number
  readonly seconds: number
  /** The code of its `Error` body; undefined if it has none. */
  readonly error: number | undefined
  readonly requestId: string
  /** Undefined where it has no valid token. */
  readonly account: string | undefined
  readonly tokenId: string | undefined
}

/** Why a request or connection was rejected without being handled. */
export const rejections = ['in-flight', 'gave-way', 'connections', 'rate-limit', 'issuer-keys'] as const

/** What the log and the metrics listen to, of all servers of this process. */
export interface Events {
  requestEnded: [RequestEnded]
  requestRejected: [reason: (typeof rejections)[number]]
  /** A request has no valid token: the code of the `Error` body of a 401. */
  authenticationFailed: [errorCode: number]
  /** So many new plants were committed together. */
  batchCommitted: [size: number]
  /** So many new plants could not be committed. */
  writesRejected: [count: number, error: unknown]
}

export const events = new EventEmitter<Events>().setMaxListeners(0)
