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

/** Starts what speaks PostgreSQL's protocol, and returns its address. */
async function serve(accept: (socket: Socket) => void) {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    accept(socket)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  afterFile(() => void server.close())
  return readAddress(`postgresql://postgres@127.0.0.1:${(server.address() as AddressInfo).port}/plants`)
}

test('a server that stops as it has opened a connection fails a statement, and is no uncaught exception', async () => {
  const address = await serve((socket) => socket.once('data', () => socket.end(OPEN + END, 'latin1')))
  const keepAlive = vi.spyOn(Socket.prototype, 'setKeepAlive')
  await using pool = openPool(address, { max: 1 })
  expect(await outcomeOf(pool.query('SELECT 1'))).toMatch(/does not respond: check/)
  // So that an idle connection ends whose network has ended silently.
  expect(keepAlive).toHaveBeenCalledExactlyOnceWith(true, 10_000)
})

/** Starts what responds to `SELECT 2` only. */
async function serveSilently() {
  const open = new Set<Socket>()
  const address = await serve((socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket)).once('data', () => socket.write(OPEN, 'latin1'))
    socket.on('data', (bytes) => bytes.includes('SELECT 2') && socket.write(DONE, 'latin1'))
  })
  return { address, open }
}

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
