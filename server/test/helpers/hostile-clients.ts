import { connect, type Socket } from 'node:net'
import { runSql } from '../../../test/helpers/database/databases.ts'
import { createPlant, get, KEEP_ALIVE, listPlants, NO_TOKEN, post, postHead, withToken } from './requests.ts'

/** The longest time until a client replaces its connection, in milliseconds. */
const MAX_LIFETIME = 20_000
/** The time before a client opens another connection, in milliseconds. */
const PAUSE = 20
const PLANT = '{"id":1000,"name":"plant 1000"}'
const CHUNKED = postHead({ 'Transfer-Encoding': 'chunked' })
const TINY_CHUNKS = '1\r\n \r\n'.repeat(10_000)
const UPGRADE = { ...KEEP_ALIVE, Connection: 'Upgrade', Upgrade: 'h2c' }

/** What clients send. */
const wires = [
  'GET /plants HTTP/1.1\r\nHost: ',
  'nonsense\r\n\r\n',
  get('/docs/swagger-ui-bundle.js', { ...KEEP_ALIVE, ...NO_TOKEN }),
  get('/plants', { ...KEEP_ALIVE, X: 'x'.repeat(15_000) }),
  get('/plants', { ...KEEP_ALIVE, Host: ['a', 'a'] }),
  listPlants('<token>').repeat(25) + get('/nothing', KEEP_ALIVE).repeat(25),
  listPlants('<unknown>').repeat(3),
  listPlants('<token>', '?limit=1').repeat(10),
  listPlants('<token>', '?limit=none'),
  // Behind a list of many pieces.
  `${listPlants('<token>')}CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n`,
  createPlant('<token>', 1_000),
  createPlant('<token>', 1_000, 'taken'),
  post('{', KEEP_ALIVE),
  get('/plants', UPGRADE),
  post(PLANT, UPGRADE),
  `${CHUNKED}${PLANT.length.toString(16)}\r\n${PLANT}\r\n0\r\n\r\n`,
  `${CHUNKED.replace('<token>', '<unknown>')}no size\r\n`,
  `${postHead({ Expect: '100-continue', 'Content-Length': String(PLANT.length) })}${PLANT}`,
  // The rest is never sent, whatever follows.
  `${postHead({ 'Content-Length': '1000000' })}{"id":1001,"name":"half`,
  `${postHead({ 'Content-Length': '100' })}{"id":1001,"name":"half`,
  CHUNKED + TINY_CHUNKS,
  CHUNKED.replace('<token>', 'wrong') + TINY_CHUNKS,
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
  // In two packets.
  (socket, wire) => {
    socket.resume().write(wire.slice(0, wire.length / 2))
    socket.write(wire.slice(wire.length / 2))
  },
  // Closing this side of the connection, disconnecting, or resetting the connection in the middle of a response.
  (socket, wire) => socket.resume().end(wire),
  (socket, wire) => socket.write(wire, () => socket.destroy()),
  (socket, wire) => socket.once('data', () => socket.destroy()).write(wire),
  (socket, wire) => socket.once('data', () => socket.resetAndDestroy()).write(wire),
]

/**
 * Sends something at random in a random way, with a token, or with one that the database is
 * asked for and does not have.
 */
export function attack(socket: Socket, token: string, unknown: string, random = Math.random): void {
  const oneOf = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)] as Item
  const end = setTimeout(() => socket.destroy(), MAX_LIFETIME * (0.5 + random()))
  socket.on('close', () => clearTimeout(end))
  const wire = [oneOf(wires), oneOf(wires)].slice(Math.round(random())).join('')
  oneOf(ways)(socket, withToken(wire, token).replaceAll('<unknown>', unknown))
}

/**
 * Opens a connection and does something with it, and opens another one whenever it has closed, until the signal aborts.
 */
export function keepConnecting(url: string, signal: AbortSignal, act: (socket: Socket) => unknown): void {
  if (signal.aborted) return
  const { hostname, port } = new URL(url)
  const socket = connect({ port: Number(port), host: hostname, signal })
  socket.on('error', () => {}).on('close', () => setTimeout(() => keepConnecting(url, signal, act), PAUSE))
  act(socket)
}

/** Stores plants of 900 kB for an account, whose list is sent in many pieces: by default more than sockets take. */
export function addLongList(databaseUrl: string, account: string, count = 12): Promise<void> {
  return runSql(
    databaseUrl,
    `WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${count})
     INSERT INTO "Plant" (account, id, name) SELECT '${account}', 100 + i, hex(zeroblob(450000)) FROM numbers`,
  )
}
