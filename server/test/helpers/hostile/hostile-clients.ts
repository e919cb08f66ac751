import { connect, type Socket } from 'node:net'
import { get, KEEP_ALIVE, listPlants, NO_TOKEN, postHead, withToken } from '../wire/requests.ts'

/** What a hostile client attacks, and with what. */
export interface Target {
  url: string
  /** A token of an account of its own, not that of well-behaved clients. */
  token: string
}

/** Hostile clients, which go on until they are stopped. */
export interface HostileClients {
  stop(): void
}

/** Lets one open connection behave in some way. */
type Behaviour = (socket: Socket, target: Target) => void

/** The longest time until a client replaces its connection, in milliseconds. */
const MAX_LIFETIME = 20_000
/** The time before a client opens another connection, in milliseconds. */
const PAUSE = 50
/** Sends no token and keeps the connection open. */
const OPEN = { ...KEEP_ALIVE, ...NO_TOKEN }

/** Keeps a number of connections of one behaviour open, replacing closed ones. */
export function startHostileClients(target: Target, connections: number, behave: Behaviour): HostileClients {
  const { hostname, port } = new URL(target.url)
  const open = new Set<Socket>()
  let stopped = false

  function begin(): void {
    if (stopped) return
    const socket = connect(Number(port), hostname)
    open.add(socket)
    const end = setTimeout(() => socket.destroy(), MAX_LIFETIME * (0.5 + Math.random())).unref()
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

/** The kinds of hostile clients. */
export const hostileBehaviours: Record<string, Behaviour> = {
  'sends pipelined requests and disconnects'(socket, { token }) {
    socket.write(listPlants(token).repeat(25) + get('/nothing', OPEN).repeat(25), () => socket.destroy())
  },

  'sends pipelined requests and reads nothing'(socket, { token }) {
    socket.pause()
    socket.write(listPlants(token).repeat(330))
  },

  'reads nothing of a static file'(socket) {
    socket.pause()
    socket.write(get('/docs/swagger-ui-bundle.js', OPEN))
  },

  'reads a static file byte by byte'(socket) {
    socket.write(get('/docs/swagger-ui-bundle.js', OPEN))
    drip(socket)
  },

  'reads a long list byte by byte'(socket, { token }) {
    socket.write(listPlants(token))
    drip(socket)
  },

  'sends a body in chunks of one byte'(socket, { token }) {
    socket.resume()
    socket.write(withToken(postHead({ 'Transfer-Encoding': 'chunked' }), token))
    writeOn(socket, '1\r\n \r\n'.repeat(10_000))
  },

  'sends a body in chunks of one byte, with an unknown token'(socket) {
    socket.resume()
    const chunks = '1\r\n \r\n'.repeat(10_000)
    socket.write(withToken(postHead({ 'Transfer-Encoding': 'chunked' }), 'pst_unknown') + chunks)
  },

  'sends a large body slowly'(socket, { token }) {
    socket.resume()
    socket.write(`${withToken(postHead({ 'Content-Length': '1000000' }), token)}{"id":`)
    const timer = setInterval(() => socket.write(' '), 1_000)
    socket.on('close', () => clearInterval(timer))
  },

  'sends invalid tokens'(socket) {
    writeOn(socket, listPlants('wrong'))
    socket.on('data', () => socket.write(listPlants('wrong')))
  },

  'sends JSON Web Tokens with unknown keys'(socket) {
    const request = () => listPlants(unknownToken())
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
    socket.resume().end(listPlants(token, '?limit=1').repeat(10))
  },

  'resets the connection in the middle of a response'(socket, { token }) {
    socket.once('data', () => socket.resetAndDestroy())
    socket.write(listPlants(token))
  },
}

/** Makes a JSON Web Token with an unknown key. */
function unknownToken(): string {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const header = encode({ alg: 'ES256', kid: String(Math.random()) })
  return `${header}.${encode({ sub: 'mallory' })}.${'A'.repeat(86)}`
}

/** Reads a few bytes now and then: the connection is never idle and never done. */
function drip(socket: Socket): void {
  socket.pause()
  const timer = setInterval(() => socket.read(16), 500)
  socket.on('close', () => clearInterval(timer))
}

/** Writes the same text repeatedly, as fast as the server reads it. */
function writeOn(socket: Socket, text: string): void {
  const write = (): void => {
    if (socket.destroyed) return
    if (socket.write(text)) setTimeout(write, 10).unref()
    else socket.once('drain', write)
  }
  write()
}
