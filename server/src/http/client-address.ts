import { isIP, SocketAddress } from 'node:net'
import type { Request } from 'express'

/** What some proxies write into `X-Forwarded-For`: `192.0.2.7:4711` or `[2001:db8::1]:4711`. */
const WITH_PORT = /^(?:\[([^\]]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/

/**
 * Returns the address of a client as a trusted proxy reports it, without the port that each of its connections has, or
 * else that of the connection: a client may send any text. It is always a short text of its own, since V8 keeps the whole
 * header in memory for a part of it.
 */
export function clientAddress({ ip = '', socket }: Request): string | undefined {
  if (ip === socket.remoteAddress) return ip
  const [, inBrackets, version4] = WITH_PORT.exec(ip) ?? []
  const address = inBrackets ?? version4 ?? ip
  const version = isIP(address)
  if (version === 0) return socket.remoteAddress
  return new SocketAddress({ address, family: version === 4 ? 'ipv4' : 'ipv6' }).address
}

/**
 * Names the client behind an address: an IPv4 address, or the first half of an IPv6 address, since one customer of a
 * provider may use all of the other half.
 *
 * @param address as Node.js writes it, which is always the same way
 */
export function addressKey(address = 'unknown'): string {
  const bare = address.replace(/^::ffff:(?=\d+\.)|%.*$/g, '')
  if (!bare.includes(':')) return bare
  const [head = '', tail] = bare.split('::')
  const groups = head.split(':').filter(Boolean)
  const last = tail?.split(':').filter(Boolean) ?? []
  const zeros = Array.from({ length: Math.max(0, 8 - groups.length - last.length) }, () => '0')
  return `${[...groups, ...zeros, ...last].slice(0, 4).join(':')}::/64`
}
