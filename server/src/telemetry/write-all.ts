import { writeSync } from 'node:fs'

/** How long to wait for the reader of a pipe that is full, in milliseconds. */
const PAUSE = 10

/**
 * Writes a text to a file descriptor, all of it. A stream of Node.js takes a write for done that a full disk has cut off.
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
