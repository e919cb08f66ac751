import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { recordStatus } from '../../../../test/helpers/server/declared-statuses.ts'
import { readResponse, type WireResponse } from './responses.ts'

/** Opens a connection; it is closed after the test. An error shows as its close. */
export async function openSocket(
  url: string,
  options: { localAddress?: string; allowHalfOpen?: boolean } = {},
): Promise<Socket> {
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
 * @throws Error if it stays open for ten seconds without more
 */
export async function exchange(url: string, wire: string): Promise<string> {
  const socket = await openSocket(url)
  let isOpen = false
  socket.setTimeout(10_000, () => {
    isOpen = true
    socket.destroy()
  })
  socket.write(wire, 'latin1')
  const text = await readAll(socket)
  if (isOpen) throw new Error(`the server does not close the connection, after ${text.slice(0, 1_000)}`)
  recordExchange(wire, text)
  return text
}

/** Records the first status here: for a request that it cannot parse, the server has no response object to observe. */
function recordExchange(wire: string, text: string): void {
  const [, method, target] = /^(\S+) (\S+) HTTP\//.exec(wire) ?? []
  const [, status] = /^(?:HTTP\/1\.1 100 Continue\r\n\r\n)?HTTP\/1\.1 ([2-5]\d{2})/.exec(text) ?? []
  if (method && target && status) recordStatus(method, target, Number(status))
}

/** A connection whose responses are read one by one. For many requests, it costs a tenth of `fetch`. */
export interface Connection {
  socket: Socket
  /** Whether nothing more will come. */
  readonly ended: boolean
  /**
   * Waits for the next response that is final; `waiting` if none has come after so many milliseconds (default: no
   * limit), undefined if the connection ended before it was whole.
   */
  read(options?: { toHead?: boolean; timeout?: number }): Promise<WireResponse | undefined | 'waiting'>
  /**
   * Sends a request and waits for its response, for so many milliseconds.
   *
   * @throws Error if the connection ends before the response is whole.
   */
  send(wire: string): Promise<WireResponse & { milliseconds: number }>
}

/** Opens a connection to read responses from; it is closed after the test. */
export async function openConnection(url: string): Promise<Connection> {
  const socket = await openSocket(url, { allowHalfOpen: true })
  let received: Buffer = Buffer.alloc(0)
  let ended = false
  let wake = () => {}
  const end = () => {
    ended = true
    wake()
  }
  socket
    .on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      wake()
    })
    .on('end', () => {
      end()
      socket.end()
    })
    .on('close', end)

  function takeResponse(toHead: boolean): WireResponse | undefined {
    for (;;) {
      const read = readResponse(received, { toHead, closed: ended })
      if (!read) return undefined
      received = received.subarray(read.length)
      if (read.response.status >= 200) return read.response
    }
  }

  const read: Connection['read'] = ({ toHead = false, timeout } = {}) =>
    new Promise((resolve, reject) => {
      const timer = timeout === undefined ? undefined : setTimeout(finish, timeout, 'waiting')
      function finish(result: WireResponse | undefined | 'waiting') {
        clearTimeout(timer)
        wake = () => {}
        resolve(result)
      }
      wake = () => {
        try {
          const response = takeResponse(toHead)
          if (response || ended) finish(response)
        } catch (error) {
          reject(error)
        }
      }
      wake()
    })

  return {
    socket,
    get ended() {
      return ended
    },
    read,
    async send(wire) {
      const begin = performance.now()
      if (!socket.destroyed) socket.write(wire, 'latin1')
      const response = await read()
      if (response === undefined || response === 'waiting') throw new Error('the connection ended before the response')
      return { ...response, milliseconds: performance.now() - begin }
    },
  }
}
