import { Writable } from 'node:stream'
import { createLog } from '../../src/telemetry/log.ts'

/** A line of the log. */
export type LogLine = Record<string, unknown> & { event?: string }

/** Creates a stream that keeps what is written. */
export function openMemory() {
  let text = ''
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += chunk
      done()
    },
  })
  return { stream, text: () => text }
}

/** Creates a log in memory. */
export async function createMemoryLog(level = 'info') {
  const { stream, text } = openMemory()
  const { logger, flush } = await createLog(level, stream)
  const written = () => {
    void flush()
    return text()
  }
  /** `written` returns the text so far, `lines` what it says. */
  return { logger, written, lines: () => readLines(written()) }
}

/** Returns the lines of an event in the output of a server. */
export function eventLines(output: string, event: string): LogLine[] {
  return readLines(output).filter((line) => line.event === event)
}

/** Returns the lines of a log in the output of a server, whole ones only. */
export function readLines(output: string): LogLine[] {
  const lines = output.slice(0, output.lastIndexOf('\n') + 1).split('\n')
  return lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))
}
