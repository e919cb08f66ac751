/** Where this runs from, and the settings that are in a file there. */

import { existsSync, lstatSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { parseEnv } from 'node:util'

// The same folder from `src/` and from the compiled `dist/`.
const parent = path.join(import.meta.dirname, '../../')

/** Whether this runs from a checkout of the repository, and not from an installed package. */
export const runsFromRepository = existsSync(path.join(parent, 'pnpm-workspace.yaml'))

/** What relative paths are relative to: the repository root, or the current folder of an installed package. */
export const baseFolder = runsFromRepository ? parent : process.cwd()

/**
 * NAME=value on one line, then perhaps a comment. Docker Compose, which reads the same file, a shell or Node.js would read
 * another value than is meant with a # or $ in it, unless it is in quotes.
 */
const ENTRY =
  /^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=[ \t]*("[^"$]*"|'[^']*'|`[^`]*`|(?!["'`])[^#$]*?)[ \t]*(?:(?<=[ \t])#.*)?$/
const BLANK = /^[ \t]*(#.*)?$/

/** What nobody sees at an end of a value, such as the line break of a secret that was read from a file. */
const INVISIBLE_ENDS = /^[\s\p{Cc}\p{Cf}]+|[\s\p{Cc}\p{Cf}]+$/gu

/** Removes white space and other invisible characters from both ends of a value. */
export function trimInvisible(value: string): string {
  return value.replace(INVISIBLE_ENDS, '')
}

/** Returns whether a value is in quotes: what starts the program has kept them, as `docker --env-file` does. */
export function isQuoted(value: string): boolean {
  return /^(["'`]).*\1$/s.test(value)
}

/** Reads a variable of the environment as a setting: undefined if it is empty. */
export function readVariable(environment: Readonly<NodeJS.ProcessEnv>, name: string): string | undefined {
  return trimInvisible(environment[name] ?? '') || undefined
}

/**
 * Loads the file `.env` of the base folder, if there is one. Variables that are already set win.
 *
 * @param settings the names of which a misspelt one is an error
 * @throws {Error} if it cannot be read as settings
 */
export function loadSettingsFile(settings: readonly string[]): void {
  for (const [name, value] of readSettingsFile(path.join(baseFolder, '.env'), settings)) process.env[name] ??= value
}

/**
 * Reads a file of settings. Rejects what is read differently elsewhere, and names that are nearly a setting. Other names
 * may be for other programs.
 *
 * @throws {Error} with the line
 */
export function readSettingsFile(file: string, settings: readonly string[] = []): Map<string, string> {
  const values = new Map<string, string>()
  // Several editors mark UTF-8 with a byte order mark.
  const lines = readText(file)
    .replace(/^\uFEFF/, '')
    .split(/\r\n?|\n/)
  for (const [index, line] of lines.entries()) {
    if (BLANK.test(line)) continue
    const rejectLine = (mistake: string): never => {
      throw new Error(`${file}, line ${index + 1}: ${mistake}`)
    }
    // What is not UTF-8 has been replaced by the second one; UTF-16 has the first.
    if (/[\0\uFFFD]/.test(line)) rejectLine('this is not text in UTF-8: save the file in this encoding')
    const advice = 'write NAME=value on one line, and put a value with #, $ or quotes in single quotes'
    const [, name = '', value] = ENTRY.exec(line) ?? rejectLine(advice)
    if (values.has(name)) rejectLine(`${name} is set in a line above, too: remove one of them`)
    const meant = findMeant(name, settings)
    if (meant !== undefined) rejectLine(`${name} is not a setting, but ${meant} is: correct or remove the line`)
    values.set(name, parseEnv(`${name}=${value}`)[name] ?? '')
  }
  return values
}

/** Names that are nearly a setting, but words of their own. */
const OTHER_NAMES = ['HOSTS', 'PORTS']
const MAX_EDITS = 2
/** So many letters may have one edit: with two, every second word of four letters would be HOST or PORT. */
const LETTERS_PER_EDIT = 4

/** Returns the setting that a name, which is not one, was meant to be: the nearest within a few edits. */
function findMeant(name: string, settings: readonly string[]): string | undefined {
  if (settings.includes(name) || OTHER_NAMES.includes(name)) return undefined
  const within = (edits: number) =>
    settings.find((each) => each.length >= edits * LETTERS_PER_EDIT && isWithin(edits, name.toUpperCase(), each))
  return within(0) ?? within(1) ?? within(MAX_EDITS)
}

/**
 * Whether one text becomes the other by a number of edits: a letter that is missing, added, another or swapped with the
 * next.
 */
function isWithin(edits: number, one: string, other: string): boolean {
  if (one === other) return true
  if (edits === 0) return false
  let same = 0
  while (one[same] === other[same]) same++
  const [from, to] = [one.slice(same), other.slice(same)]
  const swapped = from.slice(1, 2) + from.slice(0, 1) + from.slice(2)
  return (
    isWithin(edits - 1, from.slice(1), to) ||
    isWithin(edits - 1, from, to.slice(1)) ||
    isWithin(edits - 1, from.slice(1), to.slice(1)) ||
    isWithin(edits - 1, swapped, to)
  )
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // A link to a missing file is a mistake, a missing file is not.
    if (code === 'ENOENT' && !lstatSync(file, { throwIfNoEntry: false })) return ''
    throw new Error(`${file} cannot be read (${code}): it must be a file that this user may read`)
  }
}
