import { createCipheriv, createDecipheriv, createHmac, createSecretKey } from 'node:crypto'
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

/** Cursors, which tell clients where a page begins or ends and nothing else. */
export interface Cursors {
  /** Returns the cursor of the place after the plant `seq` in an account's list, the same each time; 0: its begin. */
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
 * The nonce is derived from both, so that a page that has not changed has the same links: of 2^32 places, two share one
 * with a probability of 2^-32. Whoever found such a pair could forge a cursor, and with it only begin elsewhere in the
 * list of their own account.
 *
 * @param readSecret reads the 32 bytes that all servers of the database share: now, before a page needs them, and again
 *   only if it failed
 */
export function createCursors(readSecret: () => Promise<Buffer>): Cursors {
  let keys: Promise<ReturnType<typeof deriveKeys>> | undefined

  function readKeys(): NonNullable<typeof keys> {
    keys ??= readSecret()
      .then(deriveKeys)
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
      const { key, nonceKey } = await readKeys()
      const plain = Buffer.alloc(SEQ_BYTES)
      plain.writeBigUInt64BE(BigInt(seq))
      const nonce = createHmac('sha256', nonceKey).update(account).update(plain).digest().subarray(0, NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(account))
      const encrypted = Buffer.concat([cipher.update(plain), cipher.final()])
      return Buffer.concat([nonce, encrypted, cipher.getAuthTag()]).toString('base64url')
    },

    async read(account, cursor) {
      if (!SHAPE.test(cursor)) throw invalid()
      const { key } = await readKeys()
      const bytes = Buffer.from(cursor, 'base64url')
      const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES))
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

/** Derives the keys of the cipher and of the nonces. */
function deriveKeys(secret: Buffer) {
  const nonceSecret = createHmac('sha256', secret).update('nonce').digest()
  return { key: createSecretKey(secret), nonceKey: createSecretKey(nonceSecret) }
}

function invalid(): HttpError {
  return new HttpError('invalidQuery', errorMessages.invalidCursor)
}
