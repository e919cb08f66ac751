import { isIP } from 'node:net'

/** An address, perhaps with a zone, or half of an IPv6 address. */
const ADDRESS = /^([\d.:a-f]+)(?:%\w{1,16})?(?:\/64)?$/i

/** Returns a client's address for logs and traces; undefined for other text, which a client may send in `X-Forwarded-For`. */
export function validAddress(address: string | undefined): string | undefined {
  const [, bare = ''] = ADDRESS.exec(address ?? '') ?? []
  return isIP(bare) === 0 ? undefined : address
}
