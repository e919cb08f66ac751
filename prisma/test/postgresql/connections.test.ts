import { once } from 'node:events'
import { type AddressInfo, createServer, Socket } from 'node:net'
import { expect, test, vi } from 'vitest'
import { afterFile } from '../../../test/helpers/temporary.ts'
import { readAddress } from '../../src/postgresql/address.ts'
import { openPool } from '../../src/postgresql/pool.ts'
import { outcomeOf } from '../helpers/open-client.ts'

/** A connection is open and ready, and a FATAL error of the code 57P01 ends it. */
const OPEN_AND_END = 'R\0\0\0\x08\0\0\0\0Z\0\0\0\x05IE\0\0\0\x19SFATAL\0C57P01\0Mstop\0\0'

test('a server that stops as it has opened a connection fails a statement, and is no uncaught exception', async () => {
  const stopping = createServer((socket) => socket.once('data', () => socket.end(OPEN_AND_END, 'latin1')))
  await once(stopping.listen(0, '127.0.0.1'), 'listening')
  afterFile(() => void stopping.close())
  const { port } = stopping.address() as AddressInfo
  const keepAlive = vi.spyOn(Socket.prototype, 'setKeepAlive')
  await using pool = openPool(readAddress(`postgresql://postgres@127.0.0.1:${port}/plants`), { max: 1 })
  expect(await outcomeOf(pool.query('SELECT 1'))).toMatch(/does not respond: check/)
  // So that an idle connection ends whose network has ended silently.
  expect(keepAlive).toHaveBeenCalledExactlyOnceWith(true, 10_000)
})
