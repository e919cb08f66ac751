import type { Socket } from 'node:net'
import type { Settings } from '../settings/settings.ts'
import { requestRejected } from '../telemetry/events.ts'
import { addressKey } from './client-address.ts'
import { createFairShare } from './fair-share.ts'

/** The open connections of clients. */
export interface Connections {
  /** Adds a connection, or closes it if its address has its share of them. */
  add(socket: Socket): void
  /** Notes that the next response of a connection begins. */
  beginResponse(socket: Socket): void
  /** How many are open. */
  count(): number
}

/** How often unread responses are checked, in milliseconds. */
const INTERVAL = 500
const MEBIBYTE = 2 ** 20

interface Progress {
  /** How many bytes the connection had sent before its response. */
  begin: number
  /** How long data has been waiting for the client, in milliseconds. */
  waited: number
}

/**
 * Keeps one address from taking all connections, and disconnects clients that read too slowly: each response may wait
 * for its client for `stallTimeout`, and as long again per MiB. The timeout of a socket restarts with every byte, so that a
 * client could keep a response for hours by reading a few bytes now and then, and fires while a client waits for the
 * server. Only the time in which data waits for the client counts.
 */
export function createConnections({
  maxConnections,
  stallTimeout,
}: Pick<Settings, 'maxConnections' | 'stallTimeout'>): Connections {
  const share = createFairShare(maxConnections)
  const open = new Map<Socket, Progress>()
  let timer: NodeJS.Timeout | undefined

  function check(): void {
    for (const [socket, progress] of open) {
      if (socket.writableLength === 0) continue
      progress.waited += INTERVAL
      const size = socket.bytesWritten - progress.begin
      if (progress.waited > stallTimeout * (1 + size / MEBIBYTE)) socket.destroy()
    }
  }

  return {
    add(socket) {
      const address = addressKey(socket.remoteAddress ?? '')
      if (!share.hasRoom(address, 1)) {
        requestRejected.publish('connections')
        socket.destroy()
        return
      }
      share.take(address, 1)
      open.set(socket, { begin: 0, waited: 0 })
      timer ??= setInterval(check, INTERVAL).unref()
      socket.once('close', () => {
        share.release(address, 1)
        open.delete(socket)
        if (open.size > 0) return
        clearInterval(timer)
        timer = undefined
      })
    },

    beginResponse(socket) {
      const progress = open.get(socket)
      if (!progress) return
      progress.begin = socket.bytesWritten
      progress.waited = 0
    },

    count: share.used,
  }
}
