/** Connections, and the responses that are read from their bytes. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** An HTTP response, read from the bytes of a connection. */
export interface WireResponse {
  status: number
  /** Names in lower case. */
  headers: ReadonlyMap<string, string>
  /** Decoded from UTF-8 and from chunks. */
  body: string
  /** Whether HTTP allows this response no body. */
  bodyless: boolean
}

const END_OF_HEAD = Buffer.from('\r\n\r\n')
const END_OF_LINE = Buffer.from('\r\n')

/**
 * Reads the first whole response in the bytes of a connection, with the number of bytes it takes; undefined while
 * some of it is missing.
 *
 * @param closed whether the connection is closed, which ends a body without a length
 * @throws {Error} if the bytes are not a response.
 */
function readResponse(
  bytes: Buffer,
  closed: boolean,
  toHead = false,
): { response: WireResponse; length: number } | undefined {
  const end = bytes.indexOf(END_OF_HEAD)
  if (end < 0) return undefined
  const [statusLine = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n')
  const [, status] = /^HTTP\/1\.1 (\d{3}) [\w ]+$/.exec(statusLine) ?? []
  if (!status) throw new Error(`not a response: ${statusLine.slice(0, 200)}`)
  const headers = new Map(lines.map(splitHeader))
  const bodyless = toHead || Number(status) < 200 || status === '204'
  const start = end + END_OF_HEAD.length
  const [body, length = 0] = bodyless ? [Buffer.alloc(0), 0] : (readBody(bytes.subarray(start), headers, closed) ?? [])
  if (!body) return undefined
  return { response: { status: Number(status), headers, body: body.toString(), bodyless }, length: start + length }
}

/**
 * Reads all responses that came over a connection until it was closed.
 *
 * @throws {Error} if anything is left over.
 */
export function readResponses(text: string, toHead = false): WireResponse[] {
  const responses: WireResponse[] = []
  for (let rest = Buffer.from(text, 'latin1'); rest.length > 0; ) {
    const read = readResponse(rest, true, toHead)
    if (!read) throw new Error(`not a whole response: ${rest.toString('latin1', 0, 200)}`)
    responses.push(read.response)
    rest = rest.subarray(read.length)
  }
  return responses
}

function splitHeader(line: string): [string, string] {
  const colon = line.indexOf(': ')
  if (colon < 0) throw new Error(`not a header: ${line}`)
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)]
}

/** Reads a body, and how many bytes it takes on the wire; undefined while some of it is missing. */
function readBody(bytes: Buffer, headers: ReadonlyMap<string, string>, closed: boolean): [Buffer, number] | undefined {
  if (headers.get('transfer-encoding') === 'chunked') return readChunks(bytes)
  const length = Number(headers.get('content-length') ?? (closed ? bytes.length : Number.POSITIVE_INFINITY))
  return bytes.length < length ? undefined : [bytes.subarray(0, length), length]
}

function readChunks(bytes: Buffer): [Buffer, number] | undefined {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const endOfLine = bytes.indexOf(END_OF_LINE, at)
    if (endOfLine < 0) return undefined
    const size = bytes.toString('latin1', at, endOfLine)
    if (!/^[\da-f]+$/.test(size)) throw new Error(`not the size of a chunk: ${size.slice(0, 20)}`)
    const start = endOfLine + END_OF_LINE.length
    const end = start + Number.parseInt(size, 16)
    at = end + END_OF_LINE.length
    if (bytes.length < at) return undefined
    if (end === start) return [Buffer.concat(chunks), at]
    chunks.push(bytes.subarray(start, end))
  }
}

/** Opens a connection; it is closed after the test. An error shows as its close. */
export async function openSocket(url: string, options: { localAddress?: string } = {}): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect({ port: Number(port), host: hostname, noDelay: true, ...options })
  socket.on('error', () => {})
  onTestFinished(() => {
    socket.destroy()
  })
  await once(socket, 'connect')
  return socket
}

/** Reads everything that comes until the connection closes. */
export async function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk)).resume()
  if (!socket.closed) await once(socket, 'close')
  return Buffer.concat(chunks).toString('latin1')
}

/**
 * Sends one request or several, and reads everything until the server closes the connection.
 *
 * @param patience after how many milliseconds to end this side of the connection (default: never)
 * @throws {Error} if it stays open for ten seconds without more
 */
export async function exchange(url: string, wire: string, patience?: number): Promise<string> {
  const socket = await openSocket(url)
  socket.setTimeout(10_000, () =>
    socket.destroy(new Error(`the server keeps the connection open: ${wire.slice(0, 1_000)}`)),
  )
  socket.write(wire, 'latin1')
  const timer = patience === undefined ? undefined : setTimeout(() => socket.end(), patience)
  const text = await readAll(socket)
  clearTimeout(timer)
  return text
}

/** A connection whose responses are read one by one. For many requests, it costs a tenth of `fetch`. */
export interface Connection {
  socket: Socket
  /**
   * Sends a request and waits for its response.
   *
   * @throws {Error} if the connection ends, or is silent for a minute, before the response is whole.
   */
  send(wire: string): Promise<WireResponse & { milliseconds: number }>
}

/** Opens a connection to send requests on; it is closed after the test. */
export async function openConnection(url: string): Promise<Connection> {
  const socket = await openSocket(url)
  socket.setTimeout(60_000, () => socket.destroy())
  const chunks = socket[Symbol.asyncIterator]()
  let received: Buffer = Buffer.alloc(0)

  async function read(): Promise<WireResponse> {
    for (let isClosed = false; ; ) {
      const next = readResponse(received, isClosed)
      if (next) {
        received = received.subarray(next.length)
        return next.response
      }
      if (isClosed) throw new Error('the connection ended before the response')
      const { value, done = false } = await chunks.next()
      isClosed = done
      if (!done) received = Buffer.concat([received, value])
    }
  }

  return {
    socket,
    async send(wire) {
      const begin = performance.now()
      socket.write(wire, 'latin1')
      return { ...(await read()), milliseconds: performance.now() - begin }
    },
  }
}
