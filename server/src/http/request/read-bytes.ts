import type { IncomingMessage } from 'node:http'
import { Failure } from '../../failure.ts'
import type { FairShare } from '../../limits/fair-share.ts'
import { requestRejected } from '../../telemetry/events.ts'

/** How much bodies may take. */
export interface BodyLimits {
  /** The largest body, in bytes. */
  limit: number
  /** The memory of all bodies that are being received, in bytes. */
  memory: FairShare
  /** Whose share of that memory this body takes. */
  client: string
}

/** How much a body whose length is not declared is given first, in bytes; then twice as much each time. */
const FIRST_CAPACITY = 16 * 1024
const EMPTY = Buffer.alloc(0)

/**
 * Reads the body of a request into one buffer, however small the pieces in which it comes: Node.js gives each of them a
 * buffer of its own, which takes hundreds of bytes even for one. A body that comes in one piece is not copied.
 *
 * @throws Failure `bodyTooLarge`, or `unavailable` where all bodies together take too much memory
 */
export async function readBytes(request: IncomingMessage, { limit, memory, client }: BodyLimits): Promise<Buffer> {
  const declared = request.headers['content-length']
  let buffer: Buffer = EMPTY
  let size = 0
  let held = 0

  function append(chunk: Buffer): void {
    const end = size + chunk.length
    if (end > limit) throw tooLarge(limit)
    if (chunk.length === Number(declared)) buffer = chunk
    else {
      if (end > buffer.length) grow(declared === undefined ? capacityFor(end) : Number(declared))
      chunk.copy(buffer, size)
    }
    size = end
  }

  function capacityFor(end: number): number {
    return Math.min(limit, Math.max(end, 2 * buffer.length, FIRST_CAPACITY))
  }

  function grow(capacity: number): void {
    if (!memory.hasRoom(client, capacity - held)) throw overloaded()
    memory.take(client, capacity - held)
    held = capacity
    const grown = Buffer.allocUnsafeSlow(capacity)
    buffer.copy(grown, 0, 0, size)
    buffer = grown
  }

  try {
    await readChunks(request, append)
    return buffer.subarray(0, size)
  } finally {
    memory.release(client, held)
  }
}

function readChunks(request: IncomingMessage, append: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    // Its connection has closed before: no event tells of that again.
    if (request.destroyed && !request.complete) reject(disconnected())
    request
      .on('data', (chunk: Buffer) => {
        try {
          append(chunk)
        } catch (error) {
          request.removeAllListeners('data').pause()
          reject(error)
        }
      })
      .on('end', resolve)
      // A client that disconnects is not a fault of the server's.
      .on('error', () => reject(disconnected()))
      .on('close', () => {
        if (!request.complete) reject(disconnected())
      })
  })
}

/** A body that is larger than the limit, in bytes. What is left of it is not read. */
export function tooLarge(limit: number): Failure {
  return new Failure('bodyTooLarge', `The body is larger than the ${limit} bytes that the server takes. Send less.`, {
    headers: { Connection: 'close' },
  })
}

function overloaded(): Failure {
  requestRejected.publish('body-memory')
  return new Failure('unavailable', 'The server is receiving too many large bodies. Retry later.', {
    headers: { 'Retry-After': '1', Connection: 'close' },
  })
}

function disconnected(): Failure {
  return new Failure('badRequest', 'The connection closed before the body was whole.')
}
