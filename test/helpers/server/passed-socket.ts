import net from 'node:net'
import { onTestFinished } from 'vitest'

interface Handle {
  fd: number
  getsockname(address: { port?: number }): number
  close(): void
}

/**
 * Binds a socket to a free port, whose connections wait for the process it is passed to, like a socket of systemd. It is closed
 * after the test.
 */
export function openSocket() {
  const { _createServerHandle: createHandle } = net as unknown as {
    _createServerHandle(address: string, port: number, family: number): Handle
  }
  const handle = createHandle('127.0.0.1', 0, 4)
  let isOpen = true
  /** Closes it here: the port refuses connections once no process has it. */
  const close = () => {
    if (isOpen) handle.close()
    isOpen = false
  }
  onTestFinished(close)
  const address: { port?: number } = {}
  handle.getsockname(address)
  return { descriptor: handle.fd, url: `http://127.0.0.1:${address.port}`, close }
}
