import { createCipheriv, createHmac, timingSafeEqual } from 'node:crypto'
import { Failure } from '../failure.ts'

/** A tag of 16 bytes and 8 encrypted bytes in base64url: always as long, so that not even the digits show. */
const SHAPE = /^[\w-]{32}$/
const TAG_BYTES = 16

/** Where a page begins, as clients see it: it tells nothing but that a page follows another. */
export interface Cursors {
  /** Writes the cursor of the page that follows the plant `seq` in the list of an account; the same one every time. */
  write(account: string, seq: number): Promise<string>
  /**
   * Reads a cursor.
   *
   * @throws Failure 400 where it was not written for this account with this secret
   */
  read(account: string, cursor: string): Promise<number>
}

/**
 * Makes the cursors of a service. `seq` counts the plants of all accounts, so it is encrypted and authenticated together
 * with the account: a tag of both is the initialization vector, as in AES-SIV (RFC 5297), which needs no random number.
 *
 * @param readSecret reads the secret that all servers of the database share; called again only if it failed
 */
export function createCursors(readSecret: () => Promise<Buffer>): Cursors {
  let keys: Promise<Keys> | undefined

  function readKeys(): Promise<Keys> {
    keys ??= readSecret().then(deriveKeys, (error) => {
      keys = undefined
      throw error
    })
    return keys
  }

  return {
    async write(account, seq) {
      return encrypt(await readKeys(), account, seq)
    },

    async read(account, cursor) {
      const seq = SHAPE.test(cursor) ? decrypt(await readKeys(), account, Buffer.from(cursor, 'base64url')) : undefined
      if (seq !== undefined) return seq
      throw new Failure('invalidQuery', 'cursor: must be taken from the Link header of an earlier page')
    },
  }
}

interface Keys {
  tag: Buffer
  encryption: Buffer
}

function deriveKeys(secret: Buffer): Keys {
  return { tag: authenticate(secret, 'tag'), encryption: authenticate(secret, 'encryption') }
}

function encrypt(keys: Keys, account: string, seq: number): string {
  const plain = Buffer.alloc(8)
  plain.writeBigUInt64BE(BigInt(seq))
  const tag = makeTag(keys, account, plain)
  return Buffer.concat([tag, applyKeyStream(keys, tag, plain)]).toString('base64url')
}

function decrypt(keys: Keys, account: string, bytes: Buffer): number | undefined {
  const tag = bytes.subarray(0, TAG_BYTES)
  const plain = applyKeyStream(keys, tag, bytes.subarray(TAG_BYTES))
  return timingSafeEqual(tag, makeTag(keys, account, plain)) ? Number(plain.readBigUInt64BE()) : undefined
}

function makeTag(keys: Keys, account: string, plain: Buffer): Buffer {
  return authenticate(keys.tag, Buffer.concat([plain, Buffer.from(account)])).subarray(0, TAG_BYTES)
}

/** In counter mode encrypting and decrypting are the same. */
function applyKeyStream(keys: Keys, tag: Buffer, bytes: Buffer): Buffer {
  return createCipheriv('aes-256-ctr', keys.encryption, tag).update(bytes)
}

function authenticate(key: Buffer, data: string | Buffer): Buffer {
  return createHmac('sha256', key).update(data).digest()
}
