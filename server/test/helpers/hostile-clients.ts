import { connect, type Socket } from 'node:net'
import { createPlant, get, KEEP_ALIVE, listPlants, NO_TOKEN, postHead, withToken } from './wire/requests.ts'

/** The longest time until a client replaces its connection, in milliseconds. */
const MAX_LIFETIME = 20_000
/** The time before a client opens another connection, in milliseconds. */
const PAUSE = 20
const PLANT = '{"id":1000,"name":"plant 1000"}'
const CHUNKED = postHead({ 'Transfer-Encoding': 'chunked' })
const TINY_CHUNKS = '1\r\n \r\n'.repeat(10_000)

/** What clients send. */
const wires = [
  'GET /plants HTTP/1.1\r\nHost: ',
  'nonsense\r\n\r\n',
  get('/docs/swagger-ui-bundle.js', { ...KEEP_ALIVE, ...NO_TOKEN }),
  listPlants('<token>').repeat(25) + get('/nothing', KEEP_ALIVE).repeat(25),
  listPlants('<token>').repeat(330),
  listPlants('wrong'),
  listPlants('<token>', '?limit=1').repeat(10),
  // Behind a list of many pieces.
  `${listPlants('<token>')}CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n`,
  createPlant('<token>', 1_000),
  `${CHUNKED}${PLANT.length.toString(16)}\r\n${PLANT}\r\n0\r\n\r\n`,
  `${postHead({ Expect: '100-continue', 'Content-Length': String(PLANT.length) })}${PLANT}`,
  // The rest is never sent, whatever follows.
  `${postHead({ 'Content-Length': '1000000' })}{"id":1001,"name":"half`,
  CHUNKED + TINY_CHUNKS,
  CHUNKED.replace('<token>', 'pst_unknown') + TINY_CHUNKS,
]

/** How they send it, and read the responses or not. */
const ways: ((socket: Socket, wire: string) => void)[] = [
  // As it should be.
  (socket, wire) => socket.resume().write(wire),
  // Without reading.
  (socket, wire) => socket.pause().write(wire),
  // Reading a few bytes now and then, and sending a few: the connection is never idle and never done.
  (socket, wire) => {
    socket.pause().write(wire.slice(0, -5))
    const timer = setInterval(() => {
      socket.read(16)
      socket.write(' ')
    }, 500)
    socket.on('close', () => clearInterval(timer))
  },
  // Closing this side of the connection, disconnecting, or resetting the connection in the middle of a response.
  (socket, wire) => socket.resume().end(wire),
  (socket, wire) => socket.write(wire, () => socket.destroy()),
  (socket, wire) => socket.once('data', () => socket.resetAndDestroy()).write(wire),
]

function oneOf<Item>(items: readonly Item[]): Item {
  return items[Math.floor(Math.random() * items.length)] as Item
}

/** Sends something at random in a random way. */
export function attack(socket: Socket, token: string): void {
  const end = setTimeout(() => socket.destroy(), MAX_LIFETIME * (0.5 + Math.random()))
  socket.on('close', () => clearTimeout(end))
  oneOf(ways)(socket, withToken(oneOf(wires), token))
}

/** Opens a connection and does something with it, and opens another one whenever it has closed, until the signal aborts. */
export function keepConnecting(url: string, signal: AbortSignal, act: (socket: Socket) => void): void {
  if (signal.aborted) return
  const { hostname, port } = new URL(url)
  const socket = connect({ port: Number(port), host: hostname, signal })
  socket.on('error', () => {}).on('close', () => setTimeout(() => keepConnecting(url, signal, act), PAUSE))
  act(socket)
}
