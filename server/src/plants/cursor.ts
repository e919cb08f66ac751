import { Failure } from '../http/failure.ts'

/** A cursor is the `seq` of the last plant of a page, in base64url: opaque, so that what is in it may change. */
const CURSOR = /^[1-9]\d{0,15}$/

/** Writes the cursor of the page that follows the plant `seq`. */
export function writeCursor(seq: number): string {
  return Buffer.from(String(seq)).toString('base64url')
}

/**
 * Reads a cursor.
 *
 * @throws Failure where it is none that {@link writeCursor} wrote
 */
export function readCursor(cursor: string): number {
  const text = Buffer.from(cursor, 'base64url').toString('latin1')
  if (!CURSOR.test(text) || writeCursor(Number(text)) !== cursor) {
    throw new Failure('invalidQuery', 'cursor: must be taken from the Link header of an earlier page')
  }
  return Number(text)
}
