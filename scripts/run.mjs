// What the scripts have in common. It runs on Node.js 18, like the set-up.
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The root of the repository, with a slash. */
export const root = fileURLToPath(new URL('../', import.meta.url))

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

/**
 * Installs exactly what the lockfile in `source` names, without install scripts, unless `folder` has it already.
 *
 * @param reject ends this process, with what npm printed if it failed
 * @returns `folder`, with the packages in its `node_modules`
 */
export function installLocked(source, folder, reject = fail) {
  const read = (file) => existsSync(file) && readFileSync(file, 'utf8')
  if (read(`${folder}/package-lock.json`) === read(`${source}/package-lock.json`)) return folder
  // Complete or missing, whatever interrupts this process.
  const draft = `${folder}.${process.pid}`
  mkdirSync(draft, { recursive: true })
  process.once('exit', () => rmSync(draft, { recursive: true, force: true }))
  for (const name of ['package.json', 'package-lock.json']) copyFileSync(`${source}/${name}`, `${draft}/${name}`)
  // The file .npmrc may name a registry of your own.
  if (existsSync(`${root}.npmrc`)) copyFileSync(`${root}.npmrc`, `${draft}/.npmrc`)
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const { status, error, stdout, stderr } = start('npm', ['ci', ...options], 'pipe', draft)
  if (status !== 0) reject([stdout, stderr, error?.message].filter(Boolean).join('\n'))
  rmSync(folder, { recursive: true, force: true })
  renameSync(draft, folder)
  return folder
}

/** Ends this process with a message. */
export function fail(message) {
  console.error(message)
  process.exit(1)
}
