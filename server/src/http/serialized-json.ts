import type { ServerResponse } from 'node:http'
import { Readable, Stream } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { JSON_CONTENT_TYPE, sendJson } from './send-json.ts'

/** How long a list may take to be read by its caller, in milliseconds: however slowly it reads, it ends. */
const LONGEST_STREAM = 10 * 60_000

/**
 * A response body that is JSON text already, in pieces that are made as the caller reads them.
 *
 * ts-rest pipes a body that is a `Stream` instead of serializing it, but with a bare `pipe`, which ignores errors
 * (@ts-rest/express 3.53.0-rc.1). This stream pipes itself: a failure midway breaks the connection rather than ending
 * in a valid shorter list, a caller that stops reading stops the making, one that goes away ends it.
 */
class JsonPieces extends Stream {
  readonly #pieces: AsyncIterator<string>
  readonly #first: string

  constructor(pieces: AsyncIterator<string>, first: string) {
    super()
    this.#pieces = pieces
    this.#first = first
  }

  override pipe<T extends NodeJS.WritableStream>(destination: T): T {
    const response = destination as NodeJS.WritableStream as ServerResponse
    response.setHeader('Content-Type', JSON_CONTENT_TYPE)
    const signal = AbortSignal.timeout(LONGEST_STREAM)
    pipeline(Readable.from(this.#text(), { highWaterMark: 1 }), response, { signal }).catch((error: Error) => {
      response.destroy(error)
    })
    return destination
  }

  async *#text(): AsyncGenerator<string> {
    try {
      yield this.#first
      for (let next = await this.#pieces.next(); !next.done; next = await this.#pieces.next()) {
        yield next.value
      }
    } finally {
      await this.#pieces.return?.()
    }
  }
}

/** A response body that is JSON text in UTF-8 already, whole. */
class JsonBytes extends Stream {
  readonly #bytes: Buffer

  constructor(bytes: Buffer) {
    super()
    this.#bytes = bytes
  }

  override pipe<T extends NodeJS.WritableStream>(destination: T): T {
    sendJson(destination as NodeJS.WritableStream as ServerResponse, this.#bytes)
    return destination
  }
}

/**
 * Makes JSON text a response body of type `T`, which is what the text must be of. The first piece is awaited here, so
 * that a failure before it is still answered as a failure.
 */
export async function serializedJson<T>(json: Buffer | AsyncIterable<string>): Promise<T> {
  if (Buffer.isBuffer(json)) return new JsonBytes(json) as unknown as T
  const pieces = json[Symbol.asyncIterator]()
  const first = await pieces.next()
  return new JsonPieces(pieces, first.done ? '' : first.value) as unknown as T
}
