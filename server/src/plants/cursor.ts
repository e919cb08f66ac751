import { createCipheriv, createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import { errorMessages } from '@plant-store/contract'
import { HttpError } from '../requests/errors.ts'

/** `seq` as a number of fixed length, which hides how many digits it has. */
const SEQ_BYTES = 8
const MAC_BYTES = 28
/** The MAC and the encrypted `seq` in base64url: 36 bytes, so that each spelling is another cursor. */
const SHAPE = /^[\w-]{48}$/

/** Cursors, which tell clients where a page begins or ends and nothing else. */
export interface Cursors {
  /** Returns the cursor of the position after the plant `seq` in an account's list, the same each time; 0: its begin. */
  write(account: string, seq: number): Promise<string>
  /**
   * Returns the `seq` in a cursor.
   *
   * @throws {HttpError} `invalidQuery` where it was not created for this account with this secret
   */
  read(account: string, cursor: string): Promise<number>
}

/**
 * Creates the cursors of a service. `seq` counts the plants of all accounts, so it is encrypted, and authenticated
 * together with the account. The initialization vector is a part of the MAC (as in RFC 5297), so that a page that has not
 * changed has the same links.
 *
 * @param readSecret reads the 32 bytes that all servers of the database share: now, before a page needs them, and again
 *   only if it failed
 */
export function createCursors(readSecret: () => Promise<Buffer>): Cursors {
  let keys: Promise<Keys> | undefined

  function readKeys(): Promise<Keys> {
    keys ??= readSecret()
      .then((secret) => ({ mac: derive(secret, 'mac'), cipher: derive(secret, 'cipher') }))
      .catch((error) => {
        keys = undefined
        throw error
      })
    return keys
  }

  // The first time, this writes, which fails while the disk does not respond.
  void readKeys().catch(() => {})

  return {
    async write(account, seq) {
      const keys = await readKeys()
      const plain = Buffer.alloc(SEQ_BYTES)
      plain.writeBigUInt64BE(BigInt(seq))
      const mac = sign(keys, account, plain)
      return Buffer.concat([mac, crypt(keys, mac, plain)]).toString('base64url')
    },

    async read(account, cursor) {
      if (SHAPE.test(cursor)) {
        const keys = await readKeys()
        const bytes = Buffer.from(cursor, 'base64url')
        const mac = bytes.subarray(0, MAC_BYTES)
        const plain = crypt(keys, mac, bytes.subarray(MAC_BYTES))
        if (timingSafeEqual(mac, sign(keys, account, plain))) return Number(plain.readBigUInt64BE())
      }
      throw new HttpError('invalidQuery', errorMessages.invalidCursor)
    },
  }
}

/** Objects, since Node.js 24 looks 25 us at a key that is bytes. */
type Keys = Readonly<Record<'mac' | 'cipher', KeyObject>>

function derive(secret: Buffer, use: string): KeyObject {
  return createSecretKey(createHmac('sha256', secret).update(use).digest())
}

/** Returns what only this account and `seq` have. */
function sign({ mac: key }: Keys, account: string, seq: Buffer): Buffer {
  return createHmac('sha256', key).update(account).update(seq).digest().subarray(0, MAC_BYTES)
}

/** Encrypts, or decrypts: in counter mode, both are the same. */
function crypt({ cipher: key }: Keys, mac: Buffer, bytes: Buffer): Buffer {
  return createCipheriv('aes-256-ctr', key, mac.subarray(0, 16)).update(bytes)
}
