import { channel } from 'node:diagnostics_channel'

/**
 * What happens in this process that somebody may want to count: whoever does subscribes, whoever makes it happen knows
 * nothing of counting. Publishing to nobody costs nothing worth measuring.
 */
export interface Event<Message> {
  readonly hasSubscribers: boolean
  publish(message: Message): void
  subscribe(listener: (message: Message) => void): void
  unsubscribe(listener: (message: Message) => void): void
}

/** A request has been answered, or its connection has closed before. */
export interface RequestEnded {
  method: string
  /** The path of the operation; undefined where there is none. */
  route: string | undefined
  status: number
  seconds: number
}

/** Why a caller was turned away before its request was looked at. */
export type Rejection =
  | 'in-flight'
  | 'event-loop-delay'
  | 'write-queue'
  | 'body-memory'
  | 'response-memory'
  | 'connections'
  | 'rate-limit'
  | 'auth-failures'
  | 'issuer-keys'

export const requestEnded = event<RequestEnded>('plant-store.request-ended')
export const requestRejected = event<Rejection>('plant-store.request-rejected')
/** A batch of new plants was committed; the message is how many. */
export const batchCommitted = event<number>('plant-store.batch-committed')
/** A statement found the database locked by another process and is tried again. */
export const busyRetried = event<undefined>('plant-store.busy-retried')

function event<Message>(name: string): Event<Message> {
  return channel(name) as unknown as Event<Message>
}
