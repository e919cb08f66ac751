import { connect, type Socket } from 'node:net'

/** What a hostile client attacks, and with what. */
export interface Target {
  url: string
  /** A token of an account of its own, not that of well-behaved clients. */
  token: string
}

/** Clients that go on until they are stopped. */
export interface HostileClients {
  stop(): void
}

/** How one connection behaves: called once it is open. */
type Behaviour = (socket: Socket, target: Target) => void

/** How long a connection lasts at most before its client opens another, in milliseconds. */
const LIFETIME = 20_000
/** How long a client waits before it opens another connection, in milliseconds. */
const PAUSE = 50

/** Keeps so many connections of one behaviour open; those that are closed are opened again. */
export function startHostileClients(target: Target, connections: number, behave: Behaviour): HostileClients {
  const { hostname, port } = new URL(target.url)
  const open = new Set<Socket>()
  let stopped = false

  function begin(): void {
    if (stopped) return
    const socket = connect(Number(port), hostname)
    open.add(socket)
    const end = setTimeout(() => socket.destroy(), LIFETIME * (0.5 + Math.random())).unref()
    socket
      .on('error', () => {})
      .on('connect', () => behave(socket, target))
      .on('close', () => {
        clearTimeout(end)
        open.delete(socket)
        setTimeout(begin, PAUSE).unref()
      })
  }

  for (let index = 0; index < connections; index++) begin()
  return {
    stop() {
      stopped = true
      for (const socket of open) socket.destroy()
    },
  }
}

/** Every kind of hostile client, by what it does. */
export const hostileBehaviours: Record<string, Behaviour> = {
  'sends pipelined requests and disconnects'(socket, { token }) {
    socket.write(get('/plants', token).repeat(25) + get('/nothing').repeat(25), () => socket.destroy())
  },

  'sends pipelined requests and reads nothing'(socket, { token }) {
    socket.pause()
    socket.write(get('/plants', token).repeat(330))
  },

  'reads nothing of a static file'(socket) {
    socket.pause()
    socket.write(get('/docs/swagger-ui-bundle.js'))
  },

  'reads a static file byte by byte'(socket) {
    socket.write(get('/docs/swagger-ui-bundle.js'))
    drip(socket)
  },

  'reads a long list byte by byte'(socket, { token }) {
    socket.write(get('/plants', token))
    drip(socket)
  },

  'sends a body in chunks of one byte'(socket, { token }) {
    socket.resume()
    socket.write(
      `${head('POST', '/plants', token)}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    )
    writeOn(socket, '1\r\n \r\n'.repeat(10_000))
  },

  'sends a body in chunks of one byte, with an unknown token'(socket) {
    socket.resume()
    const chunks = '1\r\n \r\n'.repeat(10_000)
    socket.write(
      `${head('POST', '/plants', 'pst_unknown')}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`,
    )
  },

  'sends a large body slowly'(socket, { token }) {
    socket.resume()
    socket.write(
      `${head('POST', '/plants', token)}Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{"id":`,
    )
    const timer = setInterval(() => socket.write(' '), 1_000)
    socket.on('close', () => clearInterval(timer))
  },

  'sends wrong tokens'(socket) {
    writeOn(socket, get('/plants', 'wrong'))
    socket.on('data', () => socket.write(get('/plants', 'wrong')))
  },

  'sends JSON Web Tokens with unknown keys'(socket) {
    const request = () => get('/plants', unknownToken())
    writeOn(socket, request())
    socket.on('data', () => socket.write(request()))
  },

  'sends nothing'(socket) {
    socket.resume()
  },

  'sends headers that do not end'(socket) {
    socket.resume()
    socket.write('GET /plants HTTP/1.1\r\nHost: ')
    const timer = setInterval(() => socket.write('x'), 1_000)
    socket.on('close', () => clearInterval(timer))
  },

  'closes its side of the connection after its requests'(socket, { token }) {
    socket.resume().end(get('/plants?limit=1', token).repeat(10))
  },

  'resets the connection amid a response'(socket, { token }) {
    socket.once('data', () => socket.resetAndDestroy())
    socket.write(get('/plants', token))
  },
}

/** A request without a body, as text. */
export function get(path: string, token?: string, headers: Record<string, string> = {}): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${head('GET', path, token)}${lines.join('')}\r\n`
}

/** The beginning of a request, to which more headers can be appended. */
export function head(method: string, path: string, token: string | undefined): string {
  const authorization = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`
  return `${method} ${path} HTTP/1.1\r\nHost: x\r\n${authorization}`
}

/** A JSON Web Token with an unknown key. */
function unknownToken(): string {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const header = encode({ alg: 'ES256', kid: String(Math.random()) })
  return `${header}.${encode({ sub: 'mallory' })}.${'A'.repeat(86)}`
}

/** Reads a few bytes, pauses, and so on: the connection is never idle and never done. */
function drip(socket: Socket): void {
  socket.pause()
  const timer = setInterval(() => socket.read(16), 500)
  socket.on('close', () => clearInterval(timer))
}

/** Writes the same text again and again, as fast as it is taken. */
function writeOn(socket: Socket, text: string): void {
  const write = (): void => {
    if (socket.destroyed) return
    if (socket.write(text)) setTimeout(write, 10).unref()
    else socket.once('drain', write)
  }
  write()
}
