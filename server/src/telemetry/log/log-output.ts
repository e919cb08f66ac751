import { fstatSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { writeAll } from '../write-all.ts'
import { createInterval } from './interval.ts'

/** From this length on, collected lines are written: a pipe of Linux takes so many bytes whole or not at all (`PIPE_BUF`). */
const MAX_COLLECTED = 4_096
/** How long lines are collected, at most, in milliseconds; a crash of the process loses these. */
const COLLECTING_INTERVAL = 100
/** How much may wait for a reader before requests are omitted, in bytes. */
const MAX_REQUESTS_WAITING = 1_000_000
/** How much may wait at all before lines are dropped, in bytes. */
const MAX_WAITING = 2_000_000
/** How long a shutdown waits for a reader, and how often it looks, in milliseconds. */
const MAX_FLUSH = 500
const FLUSH_CHECK_INTERVAL = 10

/** Writes lines to a file descriptor, and drops what cannot be written, for example on a full disk. */
export interface LogOutput {
  /** Writes lines, behind collected ones. The event loop never waits for their reader. */
  write(lines: string): void
  /** Writes a line soon, together with others. */
  collect(line: string): void
  /** Whether the reader is fast enough for more collected lines. */
  hasRoom(): boolean
  /** Writes what is collected. What the reader does not take within half a second is dropped. */
  flush(): Promise<void>
}

const outputs = new Map<number, LogOutput>()

/** Returns the output of a file descriptor: only one, since a cut line is ended by the next write. */
export function logOutput(descriptor: number): LogOutput {
  const output = outputs.get(descriptor) ?? createLogOutput(descriptor)
  outputs.set(descriptor, output)
  return output
}

/** Pino's own writer would retry forever on a full disk, and waits for a pipe in a thread that keeps the process running. */
function createLogOutput(descriptor: number): LogOutput {
  const stream = findStream(descriptor)
  let collected = ''
  let isIncomplete = false
  const interval = createInterval(COLLECTING_INTERVAL, () => write(''))
  process.once('exit', () => write(''))

  function write(lines: string): void {
    const text = collected + lines
    collected = ''
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
    write,

    collect(line) {
      collected += line
      interval.begin()
      if (collected.length >= MAX_COLLECTED) interval.end()
    },

    hasRoom: () => (stream?.writableLength ?? 0) < MAX_REQUESTS_WAITING,

    async flush() {
      interval.end()
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
  const stream = descriptor === 1 ? process.stdout : process.stderr
  // A reader that is gone needs no lines.
  return stream.on('error', () => {})
}
