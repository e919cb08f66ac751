// What the scripts have in common. It runs on Node.js 18, like the set-up.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** The root of the repository, with a slash. */
export const root = fileURLToPath(new URL('../', import.meta.url))

// npm and other tools would load compiled code from the folder of temporary files, where other users may have put it.
process.env['NODE_COMPILE_CACHE'] ||= `${root}node_modules/.cache/compiled`

/** Runs a program at the root of the repository, or in a folder, and returns how it ended, as `spawnSync` does. */
export function start(program, parameters, stdio = 'pipe', cwd = root) {
  // On Windows npm is a script, which only a shell runs; the path of Node.js may have a space, which a shell splits.
  const shell = process.platform === 'win32' && program === 'npm'
  return spawnSync(program, parameters, { cwd, shell, encoding: 'utf8', stdio, maxBuffer: 64 * 2 ** 20 })
}

/** Runs a program, and returns what it printed unless that went to the terminal. Ends this process if it fails. */
export function run(program, parameters, stdio = 'pipe') {
  const { status, error, stdout, stderr } = start(program, parameters, stdio)
  if (status === 0) return stdout?.trim() ?? ''
  return fail(
    [stdout, stderr, error?.message, `${[program, ...parameters].join(' ')} failed.`].filter(Boolean).join('\n'),
  )
}

/** Makes the folder that a script takes, unless it is empty already. Ends this process if it has files. */
export function newFolder(script) {
  const [argument] = process.argv.slice(2)
  if (argument === undefined) return fail(`Usage: npm run ${script} -- FOLDER`)
  // npm runs scripts at the root of the repository and says here where it was called.
  const folder = path.resolve(process.env['INIT_CWD'] ?? '.', argument)
  mkdirSync(folder, { recursive: true })
  return readdirSync(folder).length === 0 ? folder : fail(`${folder} is not empty. Name a new folder.`)
}

/** Ends this process with a message. */
export function fail(message) {
  console.error(message)
  process.exit(1)
}
