import type { ServerResponse } from 'node:http'
import { Stream } from 'node:stream'
import type { Reader, ResponseMemory } from '../../limits/response-memory.ts'
import { JSON_CONTENT_TYPE, sendJson } from './send-json.ts'
import type { SlowReaders } from './slow-readers.ts'

/** Who a response is for, and what keeps it from taking too much. */
export interface SendOptions {
  reader: Reader
  responseMemory: ResponseMemory
  slowReaders: SlowReaders
}

/** A piece that is being written takes this many bytes a character: as a string, and in UTF-8. */
const BYTES_PER_CHARACTER = 3

/** A response body that sends itself: ts-rest pipes a `Stream` instead of serializing it (3.53.0-rc.1). */
class SerializedJson extends Stream {
  readonly #send: (response: ServerResponse) => void

  constructor(send: (response: ServerResponse) => void) {
    super()
    this.#send = send
  }

  override pipe<T extends NodeJS.WritableStream>(destination: T): T {
    this.#send(destination as NodeJS.WritableStream as ServerResponse)
    return destination
  }
}

/**
 * Makes JSON text, whole or in pieces that are read while they are sent, a response body of type `T`, which is what the
 * text must be of.
 */
export function serializedJson<T>(json: Buffer | AsyncIterator<string, undefined>, options: SendOptions): T {
  const body = new SerializedJson((response) => {
    if (Buffer.isBuffer(json)) sendWhole(response, json, options)
    else void sendPieces(response, json, options)
  })
  return body as unknown as T
}

function sendWhole(response: ServerResponse, bytes: Buffer, { reader, responseMemory }: SendOptions): void {
  sendJson(response, bytes)
  // Mostly the system has taken it whole already.
  if (response.socket && response.socket.writableLength > 0) {
    response.once('close', responseMemory.hold(reader.account, bytes))
  }
}

/**
 * Writes piece after piece, the next one once the client has read the one before and there is room for it. A failure
 * midway breaks the connection rather than ending in a valid shorter list; a client that disconnects ends it.
 */
async function sendPieces(
  response: ServerResponse,
  pieces: AsyncIterator<string, undefined>,
  options: SendOptions,
): Promise<void> {
  response.setHeader('Content-Type', JSON_CONTENT_TYPE)
  options.slowReaders.watch(response)
  try {
    // Nothing of a list is sent to HEAD, so nothing more is read.
    if (response.req.method === 'HEAD') response.end()
    // The first piece has been read already.
    else if (await sendNext(response, await pieces.next(), options)) await sendRest(response, pieces, options)
  } catch (error) {
    response.destroy(error as Error)
  } finally {
    await pieces.return?.()
  }
}

async function sendRest(
  response: ServerResponse,
  pieces: AsyncIterator<string, undefined>,
  options: SendOptions,
): Promise<void> {
  const { reader, responseMemory } = options
  const read = () => responseMemory.read(reader, () => pieces.next(), Number.POSITIVE_INFINITY)
  while (await sendNext(response, await read(), options));
}

/** Resolves once a piece is not in memory any more, with whether there may be another. */
async function sendNext(
  response: ServerResponse,
  { value: piece, done }: IteratorResult<string, undefined>,
  { reader, responseMemory }: SendOptions,
): Promise<boolean> {
  if (response.closed) return false
  if (done) {
    response.end()
    return false
  }
  if (response.write(piece)) return true
  const release = responseMemory.hold(reader.account, BYTES_PER_CHARACTER * piece.length)
  await drained(response)
  release()
  return true
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      response.off('drain', end).off('close', end)
      resolve()
    }
    response.on('drain', end).on('close', end)
  })
}
