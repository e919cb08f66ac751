import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose'

export const ISSUER = 'https://login.example.com/'
export const AUDIENCE = 'https://plants.example.com'

/** A pair of keys of an OpenID provider. */
export interface ProviderKey {
  privateKey: CryptoKey
  /** What the provider publishes of it. */
  jwk: JWK
}

export async function createKey(kid: string, algorithm = 'ES256'): Promise<ProviderKey> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true })
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: algorithm, use: 'sig' } }
}

/** The claims of a token that is accepted. */
export function goodClaims(): JWTPayload {
  const now = Math.floor(Date.now() / 1000)
  return { iss: ISSUER, aud: AUDIENCE, sub: 'ada', scope: 'openid read write', iat: now, exp: now + 300 }
}

/** Signs a token that is accepted but for the claims given; `undefined` leaves one out. */
export function signToken({ privateKey, jwk }: ProviderKey, claims: Record<string, unknown> = {}): Promise<string> {
  const { alg = '', kid = '' } = jwk
  return new SignJWT({ ...goodClaims(), ...claims }).setProtectedHeader({ alg, kid }).sign(privateKey)
}

/** The key server of an OpenID provider. */
export interface KeyServer extends AsyncDisposable {
  url: string
  /** How often the keys were asked for. */
  fetches: number
  /** What it publishes. */
  keys: JWK[]
  /** Answers in place of the keys, where it is set. */
  answer: ((request: IncomingMessage, response: ServerResponse) => void) | undefined
  stop(): Promise<void>
  /** Comes back at the same address. */
  restart(): Promise<void>
}

export async function startKeyServer(...keys: ProviderKey[]): Promise<KeyServer> {
  const server = createServer((request, response) => {
    keyServer.fetches++
    if (keyServer.answer) keyServer.answer(request, response)
    else response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: keyServer.keys }))
  })
  const start = async (port: number) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const stop = async () => {
    if (!server.listening) return
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
  const port = await start(0)
  const keyServer: KeyServer = {
    url: `http://127.0.0.1:${port}/jwks.json`,
    fetches: 0,
    keys: keys.map(({ jwk }) => jwk),
    answer: undefined,
    stop,
    restart: async () => {
      await start(port)
    },
    [Symbol.asyncDispose]: stop,
  }
  return keyServer
}
