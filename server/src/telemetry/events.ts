import { channel } from 'node:diagnostics_channel'
import type { Request } from 'express'

/** An event that logs and metrics may subscribe to. Publishing costs next to nothing without subscribers. */
export interface Event<Message> {
  readonly hasSubscribers: boolean
  publish(message: Message): void
  subscribe(listener: (message: Message) => void): void
  unsubscribe(listener: (message: Message) => void): void
}

/** nginx's status for a client that disconnects before its response; only logs and metrics see it. */
export const CLIENT_CLOSED_REQUEST = 499

/** A request that has got its response, or whose connection has closed before. */
export interface RequestEnded {
  /** The request; its `route` is that of the operation, undefined if there is none. */
  request: Request
  status: number
  seconds: number
  /** The number of its `Error` body; undefined if it has none. */
  error: number | undefined
}

/** Why a request or connection was rejected without being handled. */
export const rejections = ['in-flight', 'gave-way', 'connections', 'rate-limit', 'issuer-keys'] as const

/** Why a request or connection was rejected without being handled. */
export type Rejection = (typeof rejections)[number]

export const requestEnded = event<RequestEnded>('plant-store.request-ended')
export const requestRejected = event<Rejection>('plant-store.request-rejected')
/** A request has no valid token; the message is the number of the `Error` body of a 401. */
export const authenticationFailed = event<number>('plant-store.authentication-failed')
/** A batch of new plants was committed; the message is its size. */
export const batchCommitted = event<number>('plant-store.batch-committed')
/** A batch of so many new plants could not be committed. */
export const writesRejected = event<{ count: number; error: unknown }>('plant-store.writes-rejected')

/** Subscribes to an event, and returns a function that ends that. */
export function subscribe<Message>(event: Event<Message>, listener: (message: Message) => void): () => void {
  event.subscribe(listener)
  return () => event.unsubscribe(listener)
}

function event<Message>(name: string): Event<Message> {
  return channel(name) as unknown as Event<Message>
}
