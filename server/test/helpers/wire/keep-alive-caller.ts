import { connect, type Socket } from 'node:net'

/** What a server answered to one request. */
export interface RawAnswer {
  status: number
  head: string
  /** From the last byte of the request to the last of the answer, in milliseconds. */
  milliseconds: number
}

/**
 * One connection that sends one request after the other, for tests with many: it costs a tenth of `fetch`. It takes
 * only answers that have a `Content-Length`.
 */
export interface KeepAliveCaller {
  socket: Socket
  /** Sends a request as it is; rejects where the connection closes before the answer is whole. */
  send(request: string): Promise<RawAnswer>
}

/** Opens a connection. */
export async function openCaller(url: string): Promise<KeepAliveCaller> {
  const { hostname, port } = new URL(url)
  const socket = connect({ port: Number(port), host: hostname, noDelay: true })
  let received = ''
  let waiting: { resolve(answer: RawAnswer): void; reject(error: Error): void; begin: number } | undefined
  socket.setEncoding('latin1').on('data', (text: string) => {
    received += text
    const headEnd = received.indexOf('\r\n\r\n')
    if (headEnd < 0 || !waiting) return
    const head = received.slice(0, headEnd)
    const length = Number(/^content-length: (\d+)/im.exec(head)?.[1])
    if (Number.isNaN(length)) {
      waiting.reject(new Error('the response has no Content-Length'))
      return
    }
    if (received.length < headEnd + 4 + length) return
    received = received.slice(headEnd + 4 + length)
    const { resolve, begin } = waiting
    waiting = undefined
    resolve({ status: Number(head.slice(9, 12)), head, milliseconds: performance.now() - begin })
  })
  socket.on('error', () => {})
  socket.on('close', () => waiting?.reject(new Error('the connection closed before the answer was whole')))
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  return {
    socket,
    send: (request) =>
      new Promise((resolve, reject) => {
        if (socket.destroyed) return reject(new Error('the connection is closed'))
        waiting = { resolve, reject, begin: performance.now() }
        socket.write(request)
      }),
  }
}

/** The text of a request that creates a plant. */
export function createRequest(token: string, id: number, name = `plant ${id}`): string {
  const body = JSON.stringify({ id, name })
  return `POST /plants HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

/** The text of a request that lists plants. */
export function listRequest(token: string, query = ''): string {
  return `GET /plants${query} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${token}\r\n\r\n`
}

/** The value below which a share of the values lies. */
export function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN
}
