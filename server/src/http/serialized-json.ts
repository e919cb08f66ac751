import type { ServerResponse } from 'node:http'
import { Readable, Stream } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/**
 * A response body that is JSON text already, in pieces that are made as the caller reads them.
 *
 * ts-rest pipes a body that is a `Stream` instead of serializing it, but with a bare `pipe`, which ignores errors
 * (@ts-rest/express 3.53.0-rc.1). This stream pipes itself: a failure midway breaks the connection rather than ending
 * in a valid shorter list, a caller that stops reading stops the making, one that goes away ends it.
 */
class SerializedJson extends Stream {
  readonly #pieces: AsyncIterator<string>
  readonly #first: string

  constructor(pieces: AsyncIterator<string>, first: string) {
    super()
    this.#pieces = pieces
    this.#first = first
  }

  override pipe<T extends NodeJS.WritableStream>(destination: T): T {
    const response = destination as NodeJS.WritableStream as ServerResponse
    response.setHeader('Content-Type', 'application/json; charset=utf-8')
    void this.#send(response)
    return destination
  }

  async #send(response: ServerResponse): Promise<void> {
    try {
      const second = await this.#pieces.next()
      if (second.done) {
        const bytes = Buffer.from(this.#first)
        // By hand, since Node.js does not count the body of an answer to HEAD.
        response.setHeader('Content-Length', bytes.length)
        response.end(bytes)
        return
      }
      await pipeline(Readable.from(this.#rest(second.value), { objectMode: true, highWaterMark: 1 }), response)
    } catch (error) {
      response.destroy(error instanceof Error ? error : new Error(String(error)))
    }
  }

  async *#rest(second: string): AsyncGenerator<Buffer> {
    try {
      yield Buffer.from(this.#first)
      yield Buffer.from(second)
      for (let next = await this.#pieces.next(); !next.done; next = await this.#pieces.next()) {
        yield Buffer.from(next.value)
      }
    } finally {
      await this.#pieces.return?.()
    }
  }
}

/**
 * Makes pieces of JSON text a response body of type `T`, which is what the text must be of. The first piece is awaited
 * here, so that a failure before it is still answered as a failure.
 */
export async function serializedJson<T>(pieces: AsyncIterable<string>): Promise<T> {
  const iterator = pieces[Symbol.asyncIterator]()
  const first = await iterator.next()
  return new SerializedJson(iterator, first.done ? '' : first.value) as unknown as T
}
