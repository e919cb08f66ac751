import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { parseEnv } from 'node:util'
import { baseFolder } from '@plant-store/prisma'
import { ownCommand } from './installation.ts'
import { OperatorError } from './operator-error.ts'

const NAMES = /^[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*=/gm

/**
 * Adds the settings of the file `.env` to the environment, where variables that are already set win. A release has none:
 * a file of the current folder may be anyone's, and could run code as the user of the service.
 *
 * @throws {OperatorError} if the file cannot be read
 */
export function loadSettingsFile(): NodeJS.ProcessEnv {
  if (ownCommand !== 'plant-store') {
    const settings = readSettingsFile(path.join(baseFolder, '.env'))
    for (const [name, value] of Object.entries(settings)) process.env[name] ??= value
  }
  return process.env
}

/** Reads a file of settings as Node.js does, except that a name that is set twice is an error. */
export function readSettingsFile(file: string): NodeJS.Dict<string> {
  const bytes = readBytes(file)
  // Text in UTF-16 may be valid UTF-8.
  if (!isUtf8(bytes) || bytes.includes(0)) throw new OperatorError(`${file} is not text in UTF-8: save it as that`)
  const text = new TextDecoder().decode(bytes)
  const names = Array.from(text.matchAll(NAMES), ([, name]) => name)
  const duplicate = names.find((name, index) => names.indexOf(name) < index)
  if (duplicate) throw new OperatorError(`${file} sets ${duplicate} twice: remove one of the lines`)
  return parseEnv(text)
}

function readBytes(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return Buffer.alloc(0)
    throw new OperatorError(`${file} cannot be read (${code}): it must be a file that this user may read`, 2, error)
  }
}
