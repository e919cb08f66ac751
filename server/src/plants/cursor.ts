import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { errorMessages } from '@plant-store/contract'
import { HttpError } from '../requests/errors.ts'

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
/** `seq` as a number of fixed length, which hides how many digits it has. */
const SEQ_BYTES = 8
/**
 * The nonce, the encrypted `seq` and a tag of 16 bytes in base64url: 36 bytes, so that each spelling is another cursor.
 */
const SHAPE = /^[\w-]{48}$/

/** Cursors, which tell clients where the next page begins and nothing else. */
export interface Cursors {
  /** Returns a cursor of the page after the plant `seq` in an account's list. */
  write(account: string, seq: number): Promise<string>
  /**
   * Returns the `seq` in a cursor.
   *
   * @throws {HttpError} `invalidQuery` where it was not created for this account with this secret
   */
  read(account: string, cursor: string): Promise<number>
}

/**
 * Creates the cursors of a service. `seq` counts the plants of all accounts, so it is encrypted, and
 * authenticated together with the account.
 *
 * The nonces are random: of 2^32 cursors, two share one with a probability of 2^-32. Whoever found such a pair could
 * forge a cursor, and with it only begin elsewhere in the list of their own account.
 *
 * @param readSecret reads the 32 bytes that all servers of the database share: now, before a page needs them, and again
 *   only if it failed
 */
export function createCursors(readSecret: () => Promise<Buffer>): Cursors {
  let key: Promise<KeyObject> | undefined

  function readKey(): Promise<KeyObject> {
    key ??= readSecret()
      .then(createSecretKey)
      .catch((error) => {
        key = undefined
        throw error
      })
    return key
  }

  // The first time, this writes, which fails while the disk does not respond.
  void readKey().catch(() => {})

  return {
    async write(account, seq) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, await readKey(), nonce).setAAD(Buffer.from(account))
      const plain = Buffer.alloc(SEQ_BYTES)
      plain.writeBigUInt64BE(BigInt(seq))
      const encrypted = Buffer.concat([cipher.update(plain), cipher.final()])
      return Buffer.concat([nonce, encrypted, cipher.getAuthTag()]).toString('base64url')
    },

    async read(account, cursor) {
      if (!SHAPE.test(cursor)) throw invalid()
      const bytes = Buffer.from(cursor, 'base64url')
      const decipher = createDecipheriv(CIPHER, await readKey(), bytes.subarray(0, NONCE_BYTES))
      decipher.setAAD(Buffer.from(account)).setAuthTag(bytes.subarray(NONCE_BYTES + SEQ_BYTES))
      const plain = decipher.update(bytes.subarray(NONCE_BYTES, NONCE_BYTES + SEQ_BYTES))
      try {
        decipher.final()
      } catch {
        throw invalid()
      }
      return Number(plain.readBigUInt64BE())
    },
  }
}

function invalid(): HttpError {
  return new HttpError('invalidQuery', errorMessages.invalidCursor)
}
