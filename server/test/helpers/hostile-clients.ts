/**
 * Attacks a server with clients of every kind, until standard input ends. Arguments: the URL, a token of an account of
 * its own, and the number of connections of each kind.
 */
import { connect, type Socket } from 'node:net'
import { get, KEEP_ALIVE, listPlants, NO_TOKEN, postHead, withToken } from './wire/requests.ts'

/** Lets an open connection behave in some way. */
type Behaviour = (socket: Socket, token: string) => void

/** The longest time until a client replaces its connection, in milliseconds. */
const MAX_LIFETIME = 20_000
/** The time before a client opens another connection, in milliseconds. */
const PAUSE = 50
/** Sends no token and keeps the connection open. */
const OPEN = { ...KEEP_ALIVE, ...NO_TOKEN }

const GET_FILE = get('/docs/swagger-ui-bundle.js', OPEN)

/** The kinds of hostile clients. */
const behaviours: Record<string, Behaviour> = {
  'sends pipelined requests and disconnects'(socket, token) {
    socket.write(listPlants(token).repeat(25) + get('/nothing', OPEN).repeat(25), () => socket.destroy())
  },

  'sends pipelined requests and reads nothing'(socket, token) {
    socket.pause()
    socket.write(listPlants(token).repeat(330))
  },

  'reads nothing of a static file'(socket) {
    socket.pause()
    socket.write(GET_FILE)
  },

  'reads a static file byte by byte'(socket) {
    socket.write(GET_FILE)
    drip(socket)
  },

  'reads a long list byte by byte'(socket, token) {
    socket.write(listPlants(token))
    drip(socket)
  },

  'sends a body in chunks of one byte'(socket, token) {
    socket.resume()
    socket.write(withToken(postHead({ 'Transfer-Encoding': 'chunked' }), token))
    writeOn(socket, '1\r\n \r\n'.repeat(10_000))
  },

  'sends a body in chunks of one byte, with an unknown token'(socket) {
    socket.resume()
    const chunks = '1\r\n \r\n'.repeat(10_000)
    socket.write(withToken(postHead({ 'Transfer-Encoding': 'chunked' }), 'pst_unknown') + chunks)
  },

  'sends a large body slowly'(socket, token) {
    socket.resume()
    socket.write(`${withToken(postHead({ 'Content-Length': '1000000' }), token)}{"id":`)
    repeat(socket, 1_000, () => socket.write(' '))
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
    repeat(socket, 1_000, () => socket.write('x'))
  },

  'closes its side of the connection after its requests'(socket, token) {
    socket.resume().end(listPlants(token, '?limit=1').repeat(10))
  },

  'resets the connection in the middle of a response'(socket, token) {
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
  repeat(socket, 500, () => socket.read(16))
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

/** Does something again and again while a connection is open. */
function repeat(socket: Socket, milliseconds: number, act: () => void): void {
  const timer = setInterval(act, milliseconds)
  socket.on('close', () => clearInterval(timer))
}

/** Opens a connection of a behaviour, and another one whenever it has closed. */
function attack(behave: Behaviour): void {
  const socket = connect(Number(port), hostname)
  const end = setTimeout(() => socket.destroy(), MAX_LIFETIME * (0.5 + Math.random()))
  socket
    .on('error', () => {})
    .on('connect', () => behave(socket, token))
    .on('close', () => {
      clearTimeout(end)
      setTimeout(attack, PAUSE, behave)
    })
}

const [url = '', token = '', connections = '1'] = process.argv.slice(2)
const { hostname, port } = new URL(url)
for (const behave of Object.values(behaviours)) {
  for (let index = 0; index < Number(connections); index++) attack(behave)
}
// Also if the process that started this one has crashed.
process.stdin.resume().on('end', () => process.exit())
