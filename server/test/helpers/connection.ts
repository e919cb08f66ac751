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

/**
 * Reads all responses that came over a connection until it was closed.
 *
 * @param text one character a byte
 * @throws {Error} if anything is left over.
 */
export function readResponses(text: string, toHead = false): WireResponse[] {
  const responses: WireResponse[] = []
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\r\n\r\n', at)
    const [statusLine = '', ...lines] = text.slice(at, end).split('\r\n')
    const [, status] = /^HTTP\/1\.1 (\d{3}) [\w ]+$/.exec(statusLine) ?? []
    if (end < 0 || !status) throw new Error(`not a response: ${text.slice(at, at + 200)}`)
    const headers = new Map(lines.map(splitHeader))
    const bodyless = toHead || Number(status) < 200 || status === '204'
    const [body, length] = bodyless ? ['', 0] : readBody(text.slice(end + 4), headers)
    responses.push({ status: Number(status), headers, body: Buffer.from(body, 'latin1').toString(), bodyless })
    at = end + 4 + length
  }
  return responses
}

function splitHeader(line: string): [string, string] {
  const [, name, value] = /^(\S+): (.*)$/.exec(line) ?? []
  if (name === undefined || value === undefined) throw new Error(`not a header: ${line}`)
  return [name.toLowerCase(), value]
}

/** Reads a body, and how many bytes it takes on the wire. */
function readBody(text: string, headers: ReadonlyMap<string, string>): [body: string, length: number] {
  if (headers.get('transfer-encoding') === 'chunked') return readChunks(text)
  const length = Number(headers.get('content-length') ?? text.length)
  if (text.length < length) throw new Error(`not a whole body: ${text.slice(0, 200)}`)
  return [text.slice(0, length), length]
}

function readChunks(text: string): [body: string, length: number] {
  let body = ''
  for (let at = 0; ; ) {
    const [line = '', size] = /^([\da-f]+)\r\n/.exec(text.slice(at, at + 20)) ?? []
    const chunk = text.slice(at + line.length).slice(0, Number.parseInt(size ?? '', 16))
    const next = at + line.length + chunk.length + 2
    if (size === undefined || text.slice(next - 2, next) !== '\r\n')
      throw new Error(`not a chunk: ${text.slice(at, at + 20)}`)
    if (chunk === '') return [body, next]
    body += chunk
    at = next
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
 * @param ends whether to end this side of the connection after them
 * @throws {Error} if it stays open for ten seconds without more
 */
export async function exchange(url: string, wire: string, ends = false): Promise<string> {
  const socket = await openSocket(url)
  socket.setTimeout(10_000, () =>
    socket.destroy(new Error(`the server keeps the connection open: ${wire.slice(0, 1_000)}`)),
  )
  socket.write(wire, 'latin1')
  if (ends) socket.end()
  return readAll(socket)
}
