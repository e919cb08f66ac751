/** The longest line that is written as it is, in characters: Docker splits lines of more than 16 KiB. */
const MAX_LINE = 8_000
/** How much is kept of a text in a longer line, in characters. */
const MAX_TEXT = 1_000
/** What JSON does not escape, and a program that reads lines, or a terminal, may take for a control character. */
const CONTROL_CHARACTERS = /[\u007f-\u009f\u2028\u2029]/g
/** What a terminal may act on. It shows line feeds and tabs, such as those of a stack. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is replaced.
const TERMINAL_CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/g

/** Cuts long texts in a line, such as an error of the database that repeats a plant, and escapes control characters. */
export function sanitize(line: string): string {
  return shorten(line).replace(CONTROL_CHARACTERS, escapeCharacter)
}

/** Reads a line, and escapes in its texts what a terminal would act on. */
export function readForTerminal(line: string): object {
  const clean = (_name: string, value: unknown) =>
    typeof value === 'string' ? value.replace(TERMINAL_CONTROLS, escapeCharacter) : value
  return JSON.parse(line, clean)
}

function shorten(line: string): string {
  if (line.length <= MAX_LINE) return line
  const cut = (_name: string, value: unknown) =>
    typeof value === 'string' && value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}...` : value
  return `${JSON.stringify(JSON.parse(line), cut)}\n`
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
