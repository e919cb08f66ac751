/** Connections, and the responses that are read from their bytes. */
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
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
  // A connection that the server has reset is closed, too.
  const closed = once(socket, 'close').catch((error) => error.code ?? Promise.reject(error))
  if (!socket.closed) await closed
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

/** A request for plants. */
interface PlantsRequest {
  /** The body of a POST; a list: its chunks. Default: a GET. */
  body?: string | Buffer | readonly Buffer[]
  query?: string
}

/** Opens a client that keeps one connection, until the test ends. For many requests, it costs a fraction of `fetch`. */
export function openClient({ url, token }: { url: string; token: string }) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return async ({ body, query = '' }: PlantsRequest): Promise<WireResponse & { milliseconds: number }> => {
    const begin = performance.now()
    const sent = request(`${url}/plants${query}`, { agent, headers, method: body === undefined ? 'GET' : 'POST' })
    const isWhole = typeof body === 'string' || Buffer.isBuffer(body)
    for (const chunk of isWhole ? [] : (body ?? [])) sent.write(chunk)
    sent.end(isWhole ? body : undefined)
    const [response] = await once(sent, 'response')
    const received = { status: response.statusCode, headers: new Map<string, string>(Object.entries(response.headers)) }
    return { ...received, body: await text(response), bodyless: false, milliseconds: performance.now() - begin }
  }
}
