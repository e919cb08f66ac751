import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Disconnects clients that read their responses too slowly. */
export interface SlowReaders {
  /** Watches a response that has data waiting for its client, or will have. */
  watch(response: ServerResponse): void
}

/** How often the responses are looked at, in milliseconds. */
const INTERVAL = 500
const MEBIBYTE = 2 ** 20

interface Reading {
  socket: Socket
  /** How many bytes the connection had taken before. */
  begin: number
  /** How long data has been waiting for the client so far, in milliseconds. */
  waited: number
}

/**
 * Makes a watch over responses that wait to be read: each has `stallTimeout`, and as long again for every MiB of it. A
 * timeout that begins anew with every byte, as that of a socket does, lets a client that reads a few bytes now and then
 * keep a response for hours. Only the time in which data waits counts, so that a slow database is not held against a
 * client.
 *
 * @param stallTimeout in milliseconds
 */
export function createSlowReaders(stallTimeout: number): SlowReaders {
  const readings = new Map<ServerResponse, Reading>()
  let timer: NodeJS.Timeout | undefined

  function check(): void {
    for (const [response, reading] of readings) {
      if (response.closed) readings.delete(response)
      else if (reading.socket.writableLength > 0) {
        reading.waited += INTERVAL
        const size = reading.socket.bytesWritten - reading.begin
        if (reading.waited > stallTimeout * (1 + size / MEBIBYTE)) reading.socket.destroy()
      }
    }
    if (readings.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    watch(response) {
      const { socket } = response
      if (!socket || readings.has(response)) return
      readings.set(response, { socket, begin: socket.bytesWritten - socket.writableLength, waited: 0 })
      timer ??= setInterval(check, INTERVAL).unref()
    },
  }
}
