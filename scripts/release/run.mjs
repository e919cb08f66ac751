import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** The root of the repository. */
export const root = fileURLToPath(new URL('../../', import.meta.url))

/** A step of a release that failed. The message says why and what to do. */
export class ReleaseError extends Error {
  name = 'ReleaseError'
}

/**
 * Runs a program and returns what it printed; with `show`, it has this process's input and output.
 *
 * @throws ReleaseError with what the program printed
 */
export function run(program, parameters, { show = false, cwd = root } = {}) {
  // On Windows npm is a script, which only a shell runs.
  const shell = process.platform === 'win32' && program === 'npm'
  const options = { cwd, shell, encoding: 'utf8', stdio: show ? 'inherit' : 'pipe', maxBuffer: 64 * 2 ** 20 }
  const { status, error, stdout, stderr } = spawnSync(program, parameters, options)
  if (status === 0) return stdout?.trim() ?? ''
  const output = [stdout, stderr, error?.message].filter(Boolean).join('\n')
  throw new ReleaseError(`${[program, ...parameters].join(' ')} failed.${output && `\n${output}`}`)
}
