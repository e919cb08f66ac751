import net from 'node:net'
import { onTestFinished } from 'vitest'

/** A bound socket whose connections wait for the process it is passed to, like a socket of systemd. */
export interface OpenSocket {
  descriptor: number
  url: string
  /** Closes it here: the port refuses connections once no process has it. */
  close(): void
}

interface Handle {
  fd: number
  getsockname(address: { port?: number }): number
  close(): void
}

/** Opens a socket on a free port; it is closed after the test. This process does not accept its connections. */
export function openSocket(): OpenSocket {
  const { _createServerHandle: createHandle } = net as unknown as {
    _createServerHandle(address: string, port: number, family: number): Handle
  }
  const handle = createHandle('127.0.0.1', 0, 4)
  let isOpen = true
  const close = () => {
    if (isOpen) handle.close()
    isOpen = false
  }
  onTestFinished(close)
  const address: { port?: number } = {}
  handle.getsockname(address)
  return { descriptor: handle.fd, url: `http://127.0.0.1:${address.port}`, close }
}
