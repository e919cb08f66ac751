import { EventEmitter } from 'node:events'
import type { Request } from 'express'

/** nginx's status for a client that disconnects before its response; only logs and metrics see it. */
export const CLIENT_CLOSED_REQUEST = 499

/** A request that has got its response, or whose connection has closed before. */
export interface RequestEnded {
  /**
   * Its `pathPattern` is the known path that it matches, of the contract or the docs, such as
   * `/plants`; undefined: none.
   */
  request: Request
  status: number
  seconds: number
  /** The code of its `Error` body; undefined if it has none. */
  errorCode: number | undefined
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
