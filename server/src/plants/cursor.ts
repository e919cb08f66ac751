import { createCipheriv, createHmac, timingSafeEqual } from 'node:crypto'
import { errorMessages } from '@plant-store/contract'
import { Failure } from '../failure.ts'

/** A tag of 16 bytes and 8 encrypted bytes in base64url. The fixed length hides how many digits the number has. */
const SHAPE = /^[\w-]{32}$/
const TAG_BYTES = 16

/** Cursors, which tell clients where the next page begins and nothing else. */
export interface Cursors {
  /** Returns the cursor of the page after the plant `seq` in an account's list, always the same one. */
  write(account: string, seq: number): Promise<string>
  /**
   * Returns the `seq` in a cursor.
   *
   * @throws Failure `invalidQuery` where it was not created for this account with this secret
   */
  read(account: string, cursor: string): Promise<number>
}

/**
 * Creates the cursors of a service. `seq` counts the plants of all accounts, so it is encrypted and authenticated together
 * with the account. A tag of both is the initialization vector, as in AES-SIV (RFC 5297), so no random number is needed.
 *
 * @param readSecret reads the secret that all servers of the database share. Called again only if it failed
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
      throw new Failure('invalidQuery', errorMessages.invalidCursor)
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

/** Encrypts or decrypts, which is the same in counter mode. */
function applyKeyStream(keys: Keys, tag: Buffer, bytes: Buffer): Buffer {
  return createCipheriv('aes-256-ctr', keys.encryption, tag).update(bytes)
}

function authenticate(key: Buffer, data: string | Buffer): Buffer {
  return createHmac('sha256', key).update(data).digest()
}
