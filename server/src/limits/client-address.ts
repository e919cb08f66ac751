import { isIP, isIPv6 } from 'node:net'
import type { Request } from 'express'

/** What some proxies write into `X-Forwarded-For`: `192.0.2.7:4711` or `[2001:db8::1]:4711`. */
const WITH_PORT = /^(?:\[([\da-f:.]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/i
/** An address, perhaps with a zone, or half of an IPv6 address. */
const ADDRESS = /^([\d.:a-f]+)(?:%\w{1,16})?(?:\/64)?$/i

/** Returns the address of a client, if a trusted proxy reports it with a port, without this: each connection has another. */
export function clientAddress({ ip }: Request): string | undefined {
  const [, version6, version4] = (ip && WITH_PORT.exec(ip)) || []
  return version6 ?? version4 ?? ip
}

/** Returns a client's address for the log; undefined for other text, which a client may send in `X-Forwarded-For`. */
export function validAddress(address: string | undefined): string | undefined {
  const [, bare = ''] = ADDRESS.exec(address ?? '') ?? []
  return isIP(bare) === 0 ? undefined : address
}

/**
 * Names the client behind an address: an IPv4 address, or the first half of an IPv6 address, since one customer of a
 * provider may use all of the other half.
 */
export function addressKey(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  if (!isIPv6(address)) return address
  const [head = '', tail] = address.toLowerCase().replace(/%.*$/, '').split('::')
  const groups = head.split(':').filter(Boolean)
  const last = tail?.split(':').filter(Boolean) ?? []
  const zeros = Array.from({ length: Math.max(0, 8 - groups.length - last.length) }, () => '0')
  return `${[...groups, ...zeros, ...last].slice(0, 4).join(':')}::/64`
}
