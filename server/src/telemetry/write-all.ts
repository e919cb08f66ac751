import { writeSync } from 'node:fs'

/** How long to wait before retrying to write to a full pipe, in milliseconds. */
const PAUSE = 10

/**
 * Writes all of a text to a file descriptor. A stream of Node.js would ignore that a full disk has truncated a write.
 *
 * @throws the error of the system call, such as `ENOSPC` or `EPIPE`
 */
export function writeAll(descriptor: number, text: string): void {
  let rest = Buffer.from(text)
  while (rest.length > 0) rest = rest.subarray(writeSome(descriptor, rest))
}

function writeSome(descriptor: number, bytes: Buffer): number {
  try {
    return writeSync(descriptor, bytes)
  } catch (error) {
    // Another process may have made the pipe non-blocking.
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE)
    return 0
  }
}
