/** An IPv4 or IPv6 address, with its zone, or half of one. */
const ADDRESS = /^[\d.:a-f]{2,45}(?:%\w{1,16})?(?:\/64)?$/i

/** Returns a client's address for logs and traces; undefined for other text, which a client may send in `X-Forwarded-For`. */
export function validAddress(address: string | undefined): string | undefined {
  return address !== undefined && ADDRESS.test(address) ? address : undefined
}
