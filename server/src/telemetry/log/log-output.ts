import { writeAll } from '../write-all.ts'

/** The longest line that is written as it is, in characters: Docker splits lines of more than 16 KiB. */
const MAX_LINE = 8_000
/** How much is kept of a text in a longer line, in characters. */
const MAX_TEXT = 1_000
/** What JSON does not escape, and a program that reads lines, or a terminal, may take for a control character. */
const CONTROL_CHARACTERS = /[\u007f-\u009f\u2028\u2029]/g

/**
 * Creates a function that writes lines of JSON to a file descriptor, and drops what cannot be written, for
 * example on a full disk; Pino's own writer would retry forever.
 */
export function createLogOutput(descriptor: number): (lines: string) => void {
  let isIncomplete = false

  return (lines) => {
    try {
      writeAll(descriptor, isIncomplete ? `\n${lines}` : lines)
      isIncomplete = false
    } catch {
      // There is nowhere to report it, and a part of a line may have been written.
      isIncomplete = true
    }
  }
}

/** Cuts long texts in a line, such as an error of the database that repeats a plant, and escapes control characters. */
export function sanitize(line: string): string {
  return escapeControls(shorten(line))
}

function shorten(line: string): string {
  if (line.length <= MAX_LINE) return line
  const cut = (_name: string, value: unknown) =>
    typeof value === 'string' && value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}...` : value
  return `${JSON.stringify(JSON.parse(line), cut)}\n`
}

function escapeControls(lines: string): string {
  return lines.replace(CONTROL_CHARACTERS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
