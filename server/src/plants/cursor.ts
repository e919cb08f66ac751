import { createCipheriv, createDecipheriv, createSecretKey, hash, type KeyObject } from 'node:crypto'
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
  write(account: string, seq: number): Promise<string>
  /**
   * Returns the `seq` in a cursor.
   *
   * @throws {HttpError} `invalidQuery` where it was not created for this account with this secret
   */
  read(account: string, cursor: string): Promise<number>
}

/**
 * Creates the cursors of a service. `seq` counts the plants of all accounts, so it is encrypted, together with the
 * account: always in the same way, so that a page that has not changed has the same links.
 *
 * @param readSecret reads the 32 bytes that all servers of the database share: now, before a page needs them, and again
 *   only if it failed
 */
export function createCursors(readSecret: () => Promise<Buffer>): Cursors {
  let key: Promise<KeyObject> | undefined

  /** Returns an object, since Node.js 24 looks 25 us at a key that is bytes. */
  function readKey(): Promise<KeyObject> {
    key ??= readSecret()
      .then((secret) => createSecretKey(secret))
      .catch((error) => {
        key = undefined
        throw error
      })
    return key
  }

  // The first time, this writes, which fails while the disk does not respond.
  void readKey().catch(() => {})

  async function write(account: string, seq: number | bigint): Promise<string> {
    const cipher = createCipheriv(CIPHER, await readKey(), null)
    const block = hash('sha256', account, 'buffer').subarray(0, BLOCK_BYTES)
    block.writeBigUInt64BE(BigInt(seq), SEQ_OFFSET)
    return cipher.update(block).toString('base64url')
  }

  return {
    write,
    async read(account, cursor) {
      const block = Buffer.from(cursor, 'base64url')
      if (block.length === BLOCK_BYTES) {
        const decipher = createDecipheriv(CIPHER, await readKey(), null).setAutoPadding(false)
        const seq = decipher.update(block).readBigUInt64BE(SEQ_OFFSET)
        // A text that is decoded to the same bytes is another one.
        if (cursor === (await write(account, seq))) return Number(seq)
      }
      throw new HttpError('invalidQuery', errorMessages.invalidCursor)
    },
  }
}
