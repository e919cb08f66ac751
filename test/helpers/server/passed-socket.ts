import net from 'node:net'
import { onTestFinished } from 'vitest'

/** A bound socket whose connections wait for the server process that it is passed to, as systemd holds one. */
export interface OpenSocket {
  descriptor: number
  url: string
}

interface Handle {
  fd: number
  getsockname(address: { port?: number }): number
  close(): void
}

/** Opens a socket on a free port; it is closed after the test. Nothing in this process accepts its connections. */
export function openSocket(): OpenSocket {
  const { _createServerHandle: createHandle } = net as unknown as {
    _createServerHandle(address: string, port: number, family: number): Handle
  }
  const handle = createHandle('127.0.0.1', 0, 4)
  onTestFinished(() => handle.close())
  const address: { port?: number } = {}
  handle.getsockname(address)
  return { descriptor: handle.fd, url: `http://127.0.0.1:${address.port}` }
}
