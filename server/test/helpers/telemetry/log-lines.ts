import { openSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { Logger } from 'pino'
import { temporaryFolder } from '../../../../test/helpers/temporary-folder.ts'
import { logOutput } from '../../../src/telemetry/log/log-output.ts'
import { createLogger } from '../../../src/telemetry/log/logger.ts'

/** A line of the log, without what is the same in every line of a process. */
export type LogLine = Record<string, unknown> & { event?: string }

/** A log in a file of its own. */
export interface FileLog {
  logger: Logger
  /** Returns the lines so far. */
  lines(): string[]
  /** Returns the lines of an event so far. */
  eventLines(event: string): LogLine[]
}

/** What a program that reads lines may take for the end of one. */
const LINE_ENDS = /[\n\r\u0085\u2028\u2029]/

/** Creates a logger over a file, and reads its lines. */
export async function createFileLog(level = 'info'): Promise<FileLog> {
  const file = path.join(temporaryFolder(), 'log')
  const descriptor = openSync(file, 'a')
  const logger = await createLogger(level, descriptor)
  const read = () => {
    void logOutput(descriptor).flush()
    return readFileSync(file, 'utf8')
  }
  return {
    logger,
    lines: () => read().split(LINE_ENDS).slice(0, -1),
    eventLines: (event) => eventLines(read(), event),
  }
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
