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

/** The file `.env` cannot be read as settings. The message names the file and the line. */
export class SettingsFileError extends Error {
  override readonly name = 'SettingsFileError'
}

/** NAME=value, where a value in quotes may have several lines; a blank line or a comment; or another line. */
const ENTRY =
  /^[ \t]*(?:export[ \t]+)?(?<name>[A-Za-z_]\w*)[ \t]*=[ \t]*(?<value>(?<quoted>"[^"]*"|'[^']*'|`[^`]*`)|.*?)[ \t]*(?:(?<=[ \t])#.*)?$|^[ \t]*(?:#.*)?$|^(?<other>.+)$/gm

type Entry = Record<'name' | 'value' | 'quoted' | 'other', string | undefined>

/**
 * Loads the file `.env` of the base folder, if there is one. Variables that are already set win.
 *
 * @throws {SettingsFileError} if it cannot be read as settings
 */
export function loadSettingsFile(): void {
  for (const [name, value] of readSettingsFile(path.join(baseFolder, '.env'))) process.env[name] ??= value
}

/**
 * Reads a file as `node --env-file` does, but rejects what that ignores or cuts off, and what Docker Compose, which reads
 * the same file, or a shell would read differently.
 *
 * @throws {SettingsFileError}
 */
export function readSettingsFile(file: string): Map<string, string> {
  // Several editors mark UTF-8 with a byte order mark.
  const text = readText(file)
    .replace(/^\uFEFF/, '')
    .replace(/\r\n?/g, '\n')
  const settings = new Map<string, string>()
  const rejectAt = (index: number, mistake: string): never => {
    const line = text.slice(0, index).split('\n').length
    throw new SettingsFileError(`${file}, line ${line}: ${mistake}`)
  }
  // What is not UTF-8 has been replaced by the second one; UTF-16 has the first.
  const broken = text.search(/[\0\uFFFD]/)
  if (broken >= 0) rejectAt(broken, 'this is not text in UTF-8: save the file in this encoding')
  for (const { index, groups } of text.matchAll(ENTRY)) {
    const entry = groups as Entry
    const mistake = findMistake(entry)
    if (mistake !== undefined) rejectAt(index, mistake)
    const { name, value } = entry
    if (name === undefined) continue
    if (settings.has(name)) rejectAt(index, `${name} is set in a line above, too: remove one of them`)
    settings.set(name, parseEnv(`${name}=${value}`)[name] ?? '')
  }
  return settings
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // A link to a missing file is a mistake, a missing file is not.
    if (code === 'ENOENT' && !lstatSync(file, { throwIfNoEntry: false })) return ''
    throw new SettingsFileError(`${file} cannot be read (${code}): it must be a file that this user may read`)
  }
}

/** Returns what is wrong with an entry, and what to do. */
function findMistake({ value = '', quoted, other }: Entry): string | undefined {
  if (other !== undefined) return 'this is neither NAME=value nor a comment; write for example PORT=8090'
  const isKept = quoted !== undefined && !quoted.startsWith('"')
  if (!isKept && /\$[A-Za-z_{(]/.test(value)) {
    return 'variables such as $NAME are not replaced: write the value itself, or put it in single quotes to keep the $'
  }
  if (quoted !== undefined) return undefined
  if (/^["'`]/.test(value)) return 'the value begins with a quote that does not end it: close or remove the quote'
  if (value.includes('#')) return 'put the value in quotes, or a space before # if a comment begins there'
  return undefined
}
