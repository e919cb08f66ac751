import { isIPv6 } from 'node:net'

/**
 * What the failures of an address are counted under: an IPv4 address, or the first half of an IPv6 address, since one
 * customer of a provider has all of the other half to choose from.
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
