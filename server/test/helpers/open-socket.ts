import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** Opens a connection; it is closed after the test. */
export async function open(url: string, localAddress?: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect({ port: Number(port), host: hostname, ...(localAddress && { localAddress }) })
  socket.on('error', () => {})
  onTestFinished(() => {
    socket.destroy()
  })
  await once(socket, 'connect')
  return socket
}

/** Everything that comes until the connection closes. */
export async function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk)).resume()
  if (!socket.closed) await once(socket, 'close')
  return Buffer.concat(chunks).toString('latin1')
}
