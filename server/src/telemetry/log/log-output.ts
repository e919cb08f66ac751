import { fstatSync, write, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { writeAll } from '../write-all.ts'
import { createInterval } from './interval.ts'

/** How much one write of collected lines takes, in bytes: a pipe of Linux takes it whole or not at all (`PIPE_BUF`). */
const MAX_WRITE = 4_096
/** How long lines are collected, at most, in milliseconds; a crash of the process loses these. */
const COLLECTING_INTERVAL = 100
/** How much may wait for a reader before requests are omitted, in bytes. */
const MAX_COLLECTED = 1_000_000
/** How much may wait at all, in bytes. */
const MAX_WAITING = 2_000_000
/** How long a shutdown waits for a reader, in milliseconds. */
const MAX_FLUSH = 500

/** Writes lines to a file descriptor, and drops what cannot be written, for example on a full disk. */
export interface LogOutput {
  /** Writes lines before it returns, which waits for a slow reader; behind collected lines, they wait with these. */
  write(lines: string): void
  /** Writes a line soon. The event loop never waits for it. */
  collect(line: string): void
  /** Whether the reader is fast enough for more collected lines. */
  hasRoom(): boolean
  /** Writes what is collected. What the reader does not take within half a second is dropped. */
  flush(): Promise<void>
  /** Writes what can be written without waiting, when the process exits without a shutdown. */
  writeRest(): void
}

const outputs = new Map<number, LogOutput>()
process.once('exit', () => {
  for (const { writeRest } of outputs.values()) writeRest()
})

/** Returns the output of a file descriptor: only one, since a cut line is ended by the next write. */
export function logOutput(descriptor: number): LogOutput {
  const output = outputs.get(descriptor) ?? createLogOutput(descriptor)
  outputs.set(descriptor, output)
  return output
}

/** Pino's own writer would retry forever on a full disk. */
function createLogOutput(descriptor: number): LogOutput {
  const waiting: string[] = []
  let waitingBytes = 0
  let isIncomplete = false
  let isWriting = false
  let writeLater: WriteLater | undefined
  let whenWritten = () => {}
  const interval = createInterval(COLLECTING_INTERVAL, writeNext)

  function writeNow(lines: string): void {
    try {
      writeAll(descriptor, complete(lines))
      isIncomplete = false
    } catch {
      // There is nowhere to report it, and a part of a line may have been written.
      isIncomplete = true
    }
  }

  /** Ends a line that was cut before. */
  function complete(lines: string): string {
    return isIncomplete ? `\n${lines}` : lines
  }

  function add(line: string): void {
    const bytes = Buffer.byteLength(line)
    if (waitingBytes + bytes > MAX_WAITING) return
    waiting.push(line)
    waitingBytes += bytes
  }

  /** Takes as many lines as one write can have, at least one. */
  function takeLines(): string {
    let bytes = 0
    const end = waiting.findIndex((line, index) => {
      bytes += Buffer.byteLength(line)
      return index > 0 && bytes > MAX_WRITE
    })
    const lines = waiting.splice(0, end < 0 ? waiting.length : end).join('')
    waitingBytes -= Buffer.byteLength(lines)
    return lines
  }

  function writeNext(): void {
    if (isWriting) return
    if (waiting.length === 0) {
      whenWritten()
      return
    }
    isWriting = true
    writeLater ??= createWriteLater(descriptor)
    writeLater(Buffer.from(complete(takeLines())), (error) => {
      isWriting = false
      isIncomplete = Boolean(error)
      writeNext()
    })
  }

  return {
    write(lines) {
      // Two writers at the same time could mix their lines.
      if (isWriting) add(lines)
      else writeNow(lines)
    },

    collect(line) {
      add(line)
      interval.begin()
      if (waitingBytes >= MAX_WRITE) interval.end()
    },

    hasRoom: () => waitingBytes < MAX_COLLECTED,

    async flush() {
      const written = new Promise<void>((resolve) => {
        whenWritten = resolve
      })
      interval.end()
      writeNext()
      await Promise.race([written, sleep(MAX_FLUSH)])
    },

    writeRest() {
      if (isWriting || waiting.length === 0) return
      try {
        writeSync(descriptor, complete(waiting.join('')))
      } catch {
        // The reader is too slow, or gone.
      }
    },
  }
}

/** Writes bytes without waiting, and calls back when all are written. */
type WriteLater = (bytes: Buffer, callback: (error?: Error | null) => void) => void

/**
 * A pipe or a socket, whose reader may stop reading, is written by the event loop: a thread that waits in a system call
 * would also keep the process from exiting.
 */
function createWriteLater(descriptor: number): WriteLater {
  const stats = fstatSync(descriptor)
  if (!stats.isFIFO() && !stats.isSocket()) return (bytes, callback) => writeToFile(descriptor, bytes, callback)
  const socket = new Socket({ fd: descriptor, readable: false, writable: true })
  // Each write that fails calls back, too.
  socket.on('error', () => {})
  socket.unref()
  return (bytes, callback) => socket.write(bytes, callback)
}

/** Writes all of the bytes; a full disk truncates a write, and the next one fails. */
function writeToFile(descriptor: number, bytes: Buffer, callback: (error?: Error | null) => void): void {
  write(descriptor, bytes, (error, written) => {
    if (error || written === bytes.length) callback(error)
    else writeToFile(descriptor, bytes.subarray(written), callback)
  })
}
