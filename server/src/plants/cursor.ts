import { createCipheriv, createDecipheriv, createSecretKey, hash } from 'node:crypto'
import { errorMessages } from '@plant-store/contract'
import { HttpError } from '../requests/errors.ts'

/**
 * A cursor is one block of AES: the first half of it is a part of the hash of the account, the other one `seq`. A block
 * has no pattern that a mode such as CBC would hide, and one that is made up has this account with a probability of 2^-64.
 */
const CIPHER = 'aes-256-ecb'
const BLOCK_BYTES = 16
const SEQ_OFFSET = 8

/** Cursors, which tell clients where a page begins or ends and nothing else. */
export interface Cursors {
  /** Returns the cursor of the position after the plant `seq` in an account's list, the same each time; 0: its begin. */
  write(account: string, seq: number): string
  /**
   * Returns the `seq` in a cursor.
   *
   * @throws {HttpError} `invalidQuery` where it was not created for this account with this secret
   */
  read(account: string, cursor: string): number
}

/**
 * Creates the cursors of a service. `seq` counts the plants of all accounts, so it is encrypted, together with the
 * account: always in the same way, so that a page that has not changed has the same links.
 *
 * @param secret 32 bytes that all servers of the database share
 */
export function createCursors(secret: Buffer): Cursors {
  // An object, since Node.js 24 looks 25 us at a key that is bytes.
  const key = createSecretKey(secret)

  function write(account: string, seq: number | bigint): string {
    const cipher = createCipheriv(CIPHER, key, null)
    const block = hash('sha256', account, 'buffer').subarray(0, BLOCK_BYTES)
    block.writeBigUInt64BE(BigInt(seq), SEQ_OFFSET)
    return cipher.update(block).toString('base64url')
  }

  return {
    write,
    read(account, cursor) {
      const block = Buffer.from(cursor, 'base64url')
      if (block.length === BLOCK_BYTES) {
        const decipher = createDecipheriv(CIPHER, key, null).setAutoPadding(false)
        const seq = decipher.update(block).readBigUInt64BE(SEQ_OFFSET)
        // A text that is decoded to the same bytes is another one.
        if (cursor === write(account, seq)) return Number(seq)
      }
      throw new HttpError('invalidQuery', errorMessages.invalidCursor)
    },
  }
}
