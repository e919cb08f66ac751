/** An IPv4 or IPv6 address, with its zone, or half of one. */
const ADDRESS = /^[\d.:a-f]{2,45}(?:%\w{1,16})?(?:\/64)?$/i

/** Returns a client's address for the log; undefined for other text, which a client may send in `X-Forwarded-For`. */
export function loggedAddress(address: string | undefined): string | undefined {
  return address !== undefined && ADDRESS.test(address) ? address : undefined
}
