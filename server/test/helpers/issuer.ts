import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { afterFile } from '../../../test/helpers/temporary.ts'
import type { Settings } from '../../src/index.ts'

export const ISSUER = 'https://login.example.com/'
export const AUDIENCE = 'https://plants.example.com'

/** Creates a key pair, with an id unless that is undefined. */
export async function createKey(kid: string | undefined, algorithm = 'ES256') {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true })
  const jwk: JWK = { ...(await exportJWK(publicKey)), ...(kid && { kid }), alg: algorithm, use: 'sig' }
  return { privateKey, jwk }
}

/** A key pair of an OpenID provider, with the public part as JSON. */
export type ProviderKey = Awaited<ReturnType<typeof createKey>>

/** Signs a token, valid except for these claims and parts of the header; `undefined` leaves one out. */
export function signToken(
  { privateKey, jwk: { alg = '', kid } }: ProviderKey,
  claims: Record<string, unknown> = {},
  header: object = {},
): Promise<string> {
  const now = Math.floor(Date.now() / 1000)
  const valid = { iss: ISSUER, aud: AUDIENCE, sub: 'ada', scope: 'openid read write', iat: now, exp: now + 300 }
  const protectedHeader = { alg, ...(kid && { kid }), ...header }
  return new SignJWT({ ...valid, ...claims }).setProtectedHeader(protectedHeader).sign(privateKey)
}

/** Responds to a request for the keys. */
export type Respond = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Starts a key server that publishes a key, and a server that trusts its tokens; both are
 * closed after the file's tests.
 */
export async function startTokenIssuer(
  key: ProviderKey,
  settings: Partial<Settings> = {},
  observers: Parameters<typeof startTestServer>[1] = {},
) {
  const keyServer = {
    /** The number of requests for the keys so far. */
    fetches: 0,
    /** The keys it publishes. */
    keys: [key.jwk],
    /** Responds instead, if it is set. */
    respond: undefined as Respond | undefined,
  }
  const http = createServer((request, response) => {
    keyServer.fetches++
    if (keyServer.respond) keyServer.respond(request, response)
    // Some publish it with a byte order mark.
    else response.setHeader('content-type', 'application/json').end(`\ufeff${JSON.stringify({ keys: keyServer.keys })}`)
  })
  await once(http.listen(0, '127.0.0.1'), 'listening')
  afterFile(() => {
    http.closeAllConnections()
    http.close()
  })
  const keysUrl = `http://127.0.0.1:${(http.address() as AddressInfo).port}/jwks.json`
  const trust = { jwtIssuer: ISSUER, jwtAudience: AUDIENCE, jwtJwksUrl: keysUrl }
  const server = await startTestServer({ ...trust, ...settings }, observers)

  /** Lists plants with a token, and returns 200, or the number of the error. */
  async function list(token: string): Promise<number> {
    const response = await server.call('/plants', { token })
    const { error = response.status } = (await response.json()) as { error?: number }
    return error
  }

  return { key, keysUrl, keyServer, server, list }
}
