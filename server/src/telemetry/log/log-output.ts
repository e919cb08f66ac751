import { fstatSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

export const STANDARD_OUTPUT = 1
export const STANDARD_ERROR = 2

/** How much may wait for a reader before requests are omitted, in bytes. */
const MAX_REQUESTS_WAITING = 1_000_000
/** How much may wait at all before lines are dropped, in bytes. */
const MAX_WAITING = 2_000_000
/** How long a shutdown waits for a reader, and how often it looks, in milliseconds. */
const MAX_FLUSH = 500
const FLUSH_CHECK_INTERVAL = 10
/** How long to wait before retrying to write to a full pipe, in milliseconds. */
const PAUSE = 10

/** Writes lines to a file descriptor, and drops what cannot be written, for example on a full disk. */
type LogOutput = ReturnType<typeof createLogOutput>

const outputs = new Map<number, LogOutput>()
process.once('exit', () => {
  for (const { flush } of outputs.values()) void flush()
})

/** Returns the output of a file descriptor: only one, since a cut line is ended by the next write. */
export function logOutput(descriptor: number): LogOutput {
  const output = outputs.get(descriptor) ?? createLogOutput(descriptor)
  outputs.set(descriptor, output)
  return output
}

/** Pino's own writer would retry forever on a full disk, and waits for a pipe in a thread that keeps the process running. */
function createLogOutput(descriptor: number) {
  const stream = findStream(descriptor)
  let lines = ''
  let isIncomplete = false
  function writeLines(): void {
    const text = lines
    lines = ''
    if (text === '') return
    if (!stream) writeToFile(text)
    else if (stream.writableLength < MAX_WAITING) stream.write(text)
  }

  function writeToFile(text: string): void {
    try {
      writeAll(descriptor, isIncomplete ? `\n${text}` : text)
      isIncomplete = false
    } catch {
      // There is nowhere to report it, and a part of a line may have been written.
      isIncomplete = true
    }
  }

  return {
    /** Writes a line, with all others of this turn of the event loop, which never waits for their reader. */
    write(line: string): void {
      if (lines === '') setImmediate(writeLines)
      lines += line
    },

    /** Whether the reader is fast enough for lines of requests. */
    hasRoom: () => (stream?.writableLength ?? 0) < MAX_REQUESTS_WAITING,

    /** Writes what is left. What the reader does not take within half a second is dropped. */
    async flush(): Promise<void> {
      writeLines()
      const end = performance.now() + MAX_FLUSH
      while (stream && stream.writableLength > 0 && performance.now() < end) await sleep(FLUSH_CHECK_INTERVAL)
    },
  }
}

/**
 * Finds the stream of Node.js for a pipe or a socket, whose reader may stop reading: it writes immediately what fits, and
 * the rest in the event loop. Unlike other streams it never closes its descriptor, which a file could get next.
 */
function findStream(descriptor: number): NodeJS.WriteStream | undefined {
  const stats = fstatSync(descriptor)
  if (!stats.isFIFO() && !stats.isSocket()) return undefined
  const stream = descriptor === STANDARD_OUTPUT ? process.stdout : process.stderr
  // A reader that is gone needs no lines.
  return stream.on('error', () => {})
}

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
