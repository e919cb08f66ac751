/** Signatures by private keys only: an HMAC could be made with the public key, and `none` by any client. */
export const SIGNATURE_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA']
