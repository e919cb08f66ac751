import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Disconnects clients that read their responses too slowly. */
export interface SlowReaders {
  /** Watches a response that has unread data, or will have. */
  watch(response: ServerResponse): void
}

/** How often the responses are checked, in milliseconds. */
const INTERVAL = 500
const MEBIBYTE = 2 ** 20

interface Progress {
  socket: Socket
  /** How many bytes the connection had sent before. */
  begin: number
  /** How long data has been waiting for the client, in milliseconds. */
  waited: number
}

/**
 * Watches responses that wait to be read: each has `stallTimeout`, and as long again per MiB. The timeout of a socket
 * restarts with every byte, so that a client could keep a response for hours by reading a few bytes now and then. Only
 * the time in which data waits counts, so that a slow database is not held against a client.
 *
 * @param stallTimeout in milliseconds
 */
export function createSlowReaders(stallTimeout: number): SlowReaders {
  const watched = new Map<ServerResponse, Progress>()
  let timer: NodeJS.Timeout | undefined

  function check(): void {
    for (const [response, progress] of watched) {
      if (response.closed) watched.delete(response)
      else if (progress.socket.writableLength > 0) {
        progress.waited += INTERVAL
        const size = progress.socket.bytesWritten - progress.begin
        if (progress.waited > stallTimeout * (1 + size / MEBIBYTE)) progress.socket.destroy()
      }
    }
    if (watched.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    watch(response) {
      const { socket } = response
      if (!socket || watched.has(response)) return
      watched.set(response, { socket, begin: socket.bytesWritten - socket.writableLength, waited: 0 })
      timer ??= setInterval(check, INTERVAL).unref()
    },
  }
}
