import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { parseEnv } from 'node:util'
import { baseFolder } from '@plant-store/prisma'
import { ownCommand } from './installation.ts'
import { OperatorError } from './operator-error.ts'

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

/** Reads a file of settings as Node.js does, but only UTF-8, also with a byte order mark. A missing one has none. */
export function readSettingsFile(file: string): NodeJS.Dict<string> {
  if (!existsSync(file)) return {}
  try {
    return parseEnv(new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file)))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new OperatorError(
      `${file} cannot be read (${code}): it must be text in UTF-8 that this user may read`,
      2,
      error,
    )
  }
}
