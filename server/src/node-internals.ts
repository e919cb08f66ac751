/** What the server uses of Node.js that is not documented, because nothing documented tells or does the same. */
import { accessSync, constants } from 'node:fs'
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** A connection or a terminal, with the handle of libuv. */
interface Handled {
  _handle?: { bytesWritten: number; writeQueueSize: number; setBlocking(blocking: boolean): void } | null
}

/**
 * Lets what is written to a terminal wait in memory, as for a pipe: by default, one that does not read (Ctrl+S, a
 * frozen ssh) stops the event loop, and SIGTERM with it. libuv has opened the terminal again, so this changes only this
 * process. Where it may not, such as after `su`, writes still block.
 */
export function stopBlocking(terminal: NodeJS.WriteStream & { fd: number } & Handled): void {
  if (!terminal.isTTY) return
  try {
    accessSync(`/dev/fd/${terminal.fd}`, constants.W_OK)
    terminal._handle?.setBlocking(false)
  } catch {
    // It belongs to another user, or this is Windows, where these writes do not block.
  }
}

/**
 * Returns how many bytes of a connection the operating system has taken. `bytesWritten` of a socket counts a write at
 * its begin, and a long one is taken in parts, which only the handle counts; the timeouts of Node.js look at it, too.
 */
export function countSentBytes({ _handle }: Socket & Handled): number {
  return _handle ? _handle.bytesWritten - _handle.writeQueueSize : 0
}

/** Returns the response that has a connection. Without a listener for `clientError`, Node.js also decides by it. */
export function responseOf(socket: Duplex & { _httpMessage?: ServerResponse | null }): ServerResponse | undefined {
  return socket._httpMessage ?? undefined
}

/**
 * Lets a client end its side of a connection after its requests, as `nc -N` and some proxies do: it gets its
 * responses, and then the connection ends. By default, Node.js ends it before a response that takes more
 * than a turn of the event loop.
 */
export function respondToHalfClosed(server: Server): void {
  Object.assign(server, { httpAllowHalfOpen: true })
}
