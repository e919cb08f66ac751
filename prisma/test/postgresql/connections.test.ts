import { once } from 'node:events'
import { type AddressInfo, createServer, Socket } from 'node:net'
import { expect, test, vi } from 'vitest'
import { afterFile } from '../../../test/helpers/temporary.ts'
import { readAddress } from '../../src/postgresql/address.ts'
import { openPool } from '../../src/postgresql/pool.ts'
import { outcomeOf } from '../helpers/open-client.ts'

/** A connection is open and ready. */
const OPEN = 'R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I'
/** A FATAL error of the code 57P01 ends it. */
const END = 'E\0\0\0\x19SFATAL\0C57P01\0Mstop\0\0'
/** A statement has succeeded. */
const DONE = 'C\0\0\0\x0dSELECT 0\0Z\0\0\0\x05I'

/** The two messages by which a server gets a password: SCRAM-SHA-256, and its first challenge. */
const [SCRAM, CHALLENGE] = ['R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0', 'R\0\0\0\x0a\0\0\0\x0br=']

/** Starts what speaks PostgreSQL's protocol, and returns its address, and the open connections. */
async function serve(accept: (socket: Socket) => void) {
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    socket.on('error', () => {}).once('close', () => open.delete(socket))
    accept(socket)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  afterFile(() => void server.close())
  const { port } = server.address() as AddressInfo
  return { address: readAddress(`postgresql://postgres@127.0.0.1:${port}/plants`), open }
}

test('a server that stops as it has opened a connection fails a statement, and is no uncaught exception', async () => {
  const { address } = await serve((socket) => socket.once('data', () => socket.end(OPEN + END, 'latin1')))
  const keepAlive = vi.spyOn(Socket.prototype, 'setKeepAlive')
  await using pool = openPool(address, { max: 1 })
  expect(await outcomeOf(pool.query('SELECT 1'))).toMatch(/does not respond: check/)
  // So that an idle connection ends whose network has ended silently.
  expect(keepAlive).toHaveBeenCalledExactlyOnceWith(true, 10_000)
})

test('where a password is missing, the connection is closed, whose server waits for it', async () => {
  const { address, open } = await serve((socket) => {
    socket.once('data', () => {
      socket.write(SCRAM, 'latin1')
      socket.once('data', () => socket.write(CHALLENGE, 'latin1'))
    })
  })
  await using pool = openPool(address, { max: 1 })
  expect(await outcomeOf(pool.query('SELECT 1'))).toMatch(/rejects this user or password/)
  await expect.poll(() => open.size).toBe(0)
})

/** Starts what responds to `SELECT 2` only. */
const serveSilently = () =>
  serve((socket) => {
    socket.once('data', () => socket.write(OPEN, 'latin1'))
    socket.on('data', (bytes) => bytes.includes('SELECT 2') && socket.write(DONE, 'latin1'))
  })

test('once a statement has had no response, all connections are closed, idle ones too', async () => {
  const { address, open } = await serveSilently()
  await using pool = openPool(address, { max: 2, query_timeout: 200 })
  const late = outcomeOf(pool.query('SELECT 1'))
  await pool.query('SELECT 2')
  expect(open.size).toBe(2)
  expect(await late).toMatch(/does not respond: check/)
  await expect.poll(() => open.size).toBe(0)
})

test('closing waits a moment for statements in flight', async () => {
  const { address, open } = await serveSilently()
  const pool = openPool(address, { max: 1, query_timeout: 300_000 })
  const late = outcomeOf(pool.query('SELECT 1'))
  await expect.poll(() => open.size).toBe(1)
  await pool[Symbol.asyncDispose]()
  expect(await late).toMatch(/does not respond: check/)
})
