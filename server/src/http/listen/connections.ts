import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import { addressKey } from '../../limits/client-address.ts'
import { createFairShare } from '../../limits/fair-share.ts'
import type { Settings } from '../../settings.ts'
import { requestRejected } from '../../telemetry/events.ts'

/** How often unread responses are checked, in milliseconds. */
const INTERVAL = 500
const MEBIBYTE = 2 ** 20
/** How many files and sockets are kept for the private port, the database, and the log. */
const RESERVED = 256
/** A limit that is lowered to less than this part of it is logged. */
const NOTABLE = 0.95

/**
 * Returns how many connections clients may have: `MAX_CONNECTIONS`, or what the limit of open files leaves. Beyond that limit
 * every new connection would be reset, those of probes too, and the database could not be opened again.
 */
export function limitConnections(maxConnections: number, logger: Logger): number {
  // Without this, a report looks up the names of addresses.
  Object.assign(process.report, { excludeNetwork: true })
  // Node.js has raised it to the hard limit. Windows has none.
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files: { soft: number | 'unlimited' } } }
  const nofile = Number(userLimits?.open_files.soft)
  const left = Math.floor(Math.max(nofile / 2, nofile - RESERVED))
  if (!(left < maxConnections)) return maxConnections
  // A few less are not worth a line at every startup.
  if (left < NOTABLE * maxConnections) {
    const advice = 'Raise it (LimitNOFILE of systemd, ulimits of Docker, ulimit -n), or lower MAX_CONNECTIONS'
    const change = `MAX_CONNECTIONS is lowered from ${maxConnections} to ${left}`
    logger.warn(`${change}, since the limit of open files (nofile) is ${nofile}. ${advice}.`)
  }
  return left
}

/**
 * Limits the connections of clients: one address cannot take all of them, and a client that reads too slowly is
 * disconnected. Each response may wait for its client for `stallTimeout`, and as long again per MiB. The timeout of a socket
 * restarts with every byte, so that a client could keep a response for hours by reading a few bytes now and then, and fires
 * while a client waits for the server. Here only the time counts in which data waits for the client.
 */
export function createConnections({ maxConnections, stallTimeout }: Settings) {
  const share = createFairShare(maxConnections)
  /** How many bytes a connection had sent before its response, and how long data has waited for its client, in milliseconds. */
  const open = new Map<Socket, { begin: number; stalled: number }>()
  let timer: NodeJS.Timeout | undefined

  function closeStalled(): void {
    for (const [socket, connection] of open) {
      if (socket.writableLength === 0) continue
      connection.stalled += INTERVAL
      const size = socket.bytesWritten - connection.begin
      if (connection.stalled > stallTimeout * (1 + size / MEBIBYTE)) socket.destroy()
    }
  }

  function remove(socket: Socket, address: string): void {
    share.release(address)
    open.delete(socket)
    if (open.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    /** Adds a connection, or closes it if its address has its share of them. */
    add(socket: Socket): void {
      const address = addressKey(socket.remoteAddress)
      if (!share.hasRoom(address)) {
        requestRejected.publish('connections')
        socket.destroy()
        return
      }
      share.take(address)
      open.set(socket, { begin: 0, stalled: 0 })
      timer ??= setInterval(closeStalled, INTERVAL).unref()
      socket.once('close', () => remove(socket, address))
    },

    /** Notes that the response to another request of a connection begins. */
    beginResponse(socket: Socket): void {
      const connection = open.get(socket)
      if (!connection) return
      connection.begin = socket.bytesWritten
      connection.stalled = 0
    },

    /** How many are open. */
    count: share.used,
  }
}
