/**
 * Attacks a server with clients of every kind, until standard input ends: each connection sends something at random in a
 * random way, and is then replaced. Arguments: the URL, a token of an account of its own, and the number of connections.
 */
import { connect, type Socket } from 'node:net'
import { createPlant, get, KEEP_ALIVE, listPlants, NO_TOKEN, postHead, withToken } from './wire/requests.ts'

/** The longest time until a client replaces its connection, in milliseconds. */
const MAX_LIFETIME = 20_000
/** The time before a client opens another connection, in milliseconds. */
const PAUSE = 50
/** Sends no token and keeps the connection open. */
const OPEN = { ...KEEP_ALIVE, ...NO_TOKEN }
const PLANT = '{"id":1000,"name":"plant 1000"}'
const CHUNKED = postHead({ 'Transfer-Encoding': 'chunked' })

const [url = '', token = '', connections = ''] = process.argv.slice(2)
const { hostname, port } = new URL(url)

/** What clients send. */
const wires = [
  '',
  'GET /plants HTTP/1.1\r\nHost: ',
  'nonsense\r\n\r\n',
  get('/docs/swagger-ui-bundle.js', OPEN),
  listPlants(token).repeat(25) + get('/nothing', OPEN).repeat(25),
  listPlants(token).repeat(330),
  listPlants('wrong'),
  listPlants('<unknown>'),
  listPlants(token, '?limit=1').repeat(10),
  // Behind a list of many pieces.
  `${listPlants(token)}CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n`,
  createPlant(token, 1_000),
  `${CHUNKED}${PLANT.length.toString(16)}\r\n${PLANT}\r\n0\r\n\r\n`,
  `${postHead({ Expect: '100-continue', 'Content-Length': String(PLANT.length) })}${PLANT}`,
  // The rest is never sent, whatever follows.
  `${postHead({ 'Content-Length': '1000000' })}{"id":1001,"name":"half`,
  CHUNKED + '1\r\n \r\n'.repeat(10_000),
  CHUNKED.replace('<token>', 'pst_unknown') + '1\r\n \r\n'.repeat(10_000),
].map((wire) => withToken(wire, token))

/** How they send it, and read the responses or not. */
const ways: ((socket: Socket, wire: string) => void)[] = [
  // As it should be.
  (socket, wire) => socket.resume().write(wire),
  // Without reading.
  (socket, wire) => socket.pause().write(wire),
  // Reading a few bytes now and then: the connection is never idle and never done.
  (socket, wire) => {
    socket.pause().write(wire)
    repeat(socket, 500, () => socket.read(16))
  },
  // Byte by byte, after most of it.
  (socket, wire) => {
    socket.resume().write(wire.slice(0, -50))
    let sent = Math.max(0, wire.length - 50)
    repeat(socket, 1_000, () => socket.write(wire.charAt(sent++) || ' '))
  },
  // Again and again, as fast as the server reads it.
  (socket, wire) => writeOn(socket.resume(), wire || ' '),
  // Closing this side of the connection, disconnecting, or resetting the connection in the middle of a response.
  (socket, wire) => socket.resume().end(wire),
  (socket, wire) => socket.write(wire, () => socket.destroy()),
  (socket, wire) => socket.once('data', () => socket.resetAndDestroy()).write(wire),
]

/** Makes a JSON Web Token with an unknown key. */
function unknownToken(): string {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const header = encode({ alg: 'ES256', kid: String(Math.random()) })
  return `${header}.${encode({ sub: 'mallory' })}.${'A'.repeat(86)}`
}

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

function oneOf<Item>(items: readonly Item[]): Item {
  return items[Math.floor(Math.random() * items.length)] as Item
}

/** Opens a connection, and another one whenever it has closed. */
function attack(): void {
  const socket = connect(Number(port), hostname)
  const end = setTimeout(() => socket.destroy(), MAX_LIFETIME * (0.5 + Math.random()))
  socket
    .on('error', () => {})
    .on('connect', () => oneOf(ways)(socket, oneOf(wires).replace('<unknown>', unknownToken)))
    .on('close', () => {
      clearTimeout(end)
      setTimeout(attack, PAUSE)
    })
}

for (let index = 0; index < Number(connections); index++) attack()
// Also if the process that started this one has crashed.
process.stdin.resume().on('end', () => process.exit())
