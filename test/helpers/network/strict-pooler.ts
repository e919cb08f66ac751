import { type Link, startProxy, type TcpProxy } from './proxy.ts'

/** What PgBouncer lets a client send when it connects (`ignore_startup_parameters` is empty). */
const PARAMETERS = ['user', 'database', 'application_name', 'client_encoding']
/** The first message has no type, only a length and this version or a request for TLS. */
const PROTOCOL_3 = 196_608
const PARSE = 'P'.charCodeAt(0)

/** How a pooler is set up. */
export interface StrictPoolerOptions {
  /** Lets clients set anything when they connect, as `ignore_startup_parameters` does. */
  ignoreParameters?: boolean
}

/**
 * Starts a proxy to PostgreSQL that rejects what PgBouncer rejects in transaction mode: settings of a session when a client
 * connects, and named statements, which the connection of the next transaction may not have.
 */
export function startStrictPooler(
  port: number,
  { ignoreParameters = false }: StrictPoolerOptions = {},
): Promise<TcpProxy> {
  const unread = new WeakMap<Link, Buffer>()
  const started = new WeakSet<Link>()

  function whyRejected(link: Link, message: Buffer): [code: string, reason: string] | undefined {
    if (!started.has(link)) {
      if (message.readInt32BE(4) !== PROTOCOL_3) return ['08P01', 'TLS is not supported']
      started.add(link)
      const words = message.subarray(8).toString().split('\0')
      const parameter = words.find((word, index) => index % 2 === 0 && word !== '' && !PARAMETERS.includes(word))
      return parameter === undefined || ignoreParameters
        ? undefined
        : ['08P01', `unsupported startup parameter: ${parameter}`]
    }
    if (message[0] !== PARSE || message[5] === 0) return undefined
    return ['42P05', 'prepared statement "S_1" already exists']
  }

  return startProxy({
    target: () => port,
    request(bytes, link) {
      let rest = Buffer.concat([unread.get(link) ?? Buffer.alloc(0), bytes])
      for (let size = sizeOf(rest, started.has(link)); size <= rest.length; size = sizeOf(rest, started.has(link))) {
        const rejected = whyRejected(link, rest.subarray(0, size))
        if (rejected) {
          link.client.end(errorResponse(...rejected))
          return false
        }
        rest = rest.subarray(size)
      }
      unread.set(link, rest)
      return true
    },
  })
}

/** The size of the first message, type and length included. */
function sizeOf(bytes: Buffer, hasType: boolean): number {
  const offset = hasType ? 1 : 0
  return bytes.length < offset + 4 ? Number.POSITIVE_INFINITY : offset + bytes.readInt32BE(offset)
}

function errorResponse(code: string, message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`)
  const header = Buffer.from('E\0\0\0\0')
  header.writeInt32BE(4 + fields.length, 1)
  return Buffer.concat([header, fields])
}
