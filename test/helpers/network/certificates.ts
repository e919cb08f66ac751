/** Makes certificates for TLS (RFC 5280), which Node.js itself can only read. */
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

/** A certificate and its key, in PEM format. */
export interface Certificate {
  certificate: string
  key: string
}

/** A certificate authority. */
export interface Authority extends Certificate {
  /**
   * Issues a certificate.
   *
   * @param name the common name: a host's name, or a user's name for a client
   * @param addresses further IPv4 addresses
   */
  issue(name: string, addresses?: readonly string[]): Certificate
}

const DAY = 86_400_000
const VERSION_3 = element(0x02, Buffer.from([2]))
const ECDSA_WITH_SHA256 = element(0x30, objectId('2a8648ce3d040302'))
const COMMON_NAME = objectId('550403')
const BASIC_CONSTRAINTS = objectId('551d13')
const SUBJECT_ALTERNATIVE_NAME = objectId('551d11')
const TRUE = element(0x01, Buffer.from([0xff]))

/** Creates a certificate authority that only those trust who get its certificate. */
export function createAuthority(name: string): Authority {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const isAuthority = extension(BASIC_CONSTRAINTS, sequence(TRUE))
  return {
    ...encode({ subject: name, issuer: name, publicKey, extensions: [isAuthority], signer: privateKey }, privateKey),
    issue(subject, addresses = []) {
      const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const names = [
        element(0x82, Buffer.from(subject)),
        ...addresses.map((address) => element(0x87, Buffer.from(address.split('.').map(Number)))),
      ]
      const extensions = [extension(SUBJECT_ALTERNATIVE_NAME, sequence(...names))]
      const { publicKey: key } = pair
      return encode({ subject, issuer: name, publicKey: key, extensions, signer: privateKey }, pair.privateKey)
    },
  }
}

interface Contents {
  subject: string
  issuer: string
  publicKey: KeyObject
  extensions: Buffer[]
  signer: KeyObject
}

function encode({ subject, issuer, publicKey, extensions, signer }: Contents, privateKey: KeyObject): Certificate {
  const contents = sequence(
    element(0xa0, VERSION_3),
    element(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ECDSA_WITH_SHA256,
    nameOf(issuer),
    sequence(time(Date.now() - DAY), time(Date.now() + DAY)),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    element(0xa3, sequence(...extensions)),
  )
  const signature = element(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', contents, signer)]))
  const lines = sequence(contents, ECDSA_WITH_SHA256, signature)
    .toString('base64')
    .match(/.{1,64}/g)
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${lines?.join('\n')}\n-----END CERTIFICATE-----\n`,
    key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
  }
}

/** Encodes a value in DER: a tag, a length, the value. */
function element(tag: number, value: Buffer): Buffer {
  const { length } = value
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), value])
}

function sequence(...elements: Buffer[]): Buffer {
  return element(0x30, Buffer.concat(elements))
}

function objectId(hex: string): Buffer {
  return element(0x06, Buffer.from(hex, 'hex'))
}

function nameOf(commonName: string): Buffer {
  return sequence(element(0x31, sequence(COMMON_NAME, element(0x0c, Buffer.from(commonName)))))
}

function time(date: number): Buffer {
  return element(0x17, Buffer.from(`${new Date(date).toISOString().slice(2, 19).replace(/[-:T]/g, '')}Z`))
}

function extension(id: Buffer, value: Buffer): Buffer {
  return sequence(id, element(0x04, value))
}
