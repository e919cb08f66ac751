/** The scripts of the root's package.json, and what they install. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, cpSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { root, startProgram, until } from './helpers/programs.ts'
import { temporaryDatabase, temporaryFolder } from './helpers/temporary.ts'

const manifest = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))

const run = (program: string, parameters: string[], { cwd = root, ...settings }: Record<string, string> = {}) =>
  spawnSync(program, parameters, { cwd, env: { ...process.env, ...settings }, encoding: 'utf8', maxBuffer: 2 ** 26 })

test('every script of the root sets up, except those that need no packages or run others that do', () => {
  const setsUp = /^(node scripts\/setup\.mjs|npm run --silent setup)\b/
  const others = Object.keys(manifest.scripts).filter((name) => !setsUp.test(manifest.scripts[name]))
  expect(others.sort().join(' ')).toBe('audit check clean sbom')
  // Corepack's npm would not run where these name pnpm.
  expect([manifest.packageManager, manifest.devEngines?.packageManager]).toEqual([undefined, undefined])
})

test('a build leaves what has not changed, which other processes may read or build', () => {
  const file = `${root}server/dist/docs/swagger-ui/swagger-ui.css`
  const { mtimeMs } = statSync(file)
  expect(run('npm', ['run', '--silent', 'build']).stderr).toBe('')
  expect(statSync(file).mtimeMs).toBe(mtimeMs)
})

test('npm run typecheck checks every file of the packages and the tests, and takes --watch', () => {
  expect(manifest.scripts.dev).toContain('npm run typecheck -- --watch')
  expect(manifest.scripts.typecheck).toMatch(/ tsc --pretty false$/)
  const { files: checked } = JSON.parse(run(`${root}node_modules/.bin/tsc`, ['--showConfig']).stdout)
  const files = run('git', ['ls-files', '*.ts', ':!client/test/consumer']).stdout.trim().split('\n')
  expect(files.filter((file) => !checked.includes(`./${file}`))).toEqual([])
})

/** Starts a script that serves on an empty database. */
const startServing = (script: string, settings = {}) => {
  const env = { ...process.env, DATABASE_URL: temporaryDatabase().url, PORT: '0', NODE_ENV: 'development', ...settings }
  return startProgram(['npm', 'run', script], /"msg":"ready"/, { cwd: root, env })
}
const urlsOf = (output: string) => [...output.matchAll(/"url":"([^"]+)".*"msg":"ready"/g)].map(([, url]) => url)

test.concurrent.each([
  // npm passes it on to its shell, which some shells replace by the server.
  ['start', 'SIGINT', 'bash'],
  // The shell ends, and a server without its shell ends itself.
  ['start', 'SIGHUP', 'sh'],
  // `node --watch` passes it on. Before, it starts the server again after a change of a source.
  ['dev', 'SIGINT', 'sh'],
] as const)('npm run %s finishes a request after %s to all its processes, in %s', async (script, signal, shell) => {
  await using program = await startServing(script, { npm_config_script_shell: shell })
  if (script === 'dev') {
    // No other process than the one that writes imports it. Its time is all that changes.
    utimesSync(`${root}prisma/src/sqlite/writer.ts`, new Date(), new Date())
    await until(() => urlsOf(program.output()).length > 1)
  }
  const [, token] = /^ {2}(pst_\S+)$/m.exec(program.output()) ?? []
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', expect: '100-continue' }
  const creation = request(`${urlsOf(program.output()).at(-1)}/plants`, { method: 'POST', headers })
  const response = once(creation, 'response')
  creation.flushHeaders()
  await once(creation, 'continue')
  const [, pid] = /"pid":(\d+).*"msg":"ready"/.exec(program.output()) ?? []
  // On a busy machine, the signal arrives after the shell has ended.
  if (script === 'start') process.kill(Number(pid), 'SIGSTOP')
  const ended = program.stop(signal)
  await sleep(500)
  if (script === 'start') process.kill(Number(pid), 'SIGCONT')
  await until(() => program.output().includes(`"signal":"${signal}"`))
  // The signal that is passed on arrives, or has.
  await sleep(500)
  creation.end('{"id":1,"name":"Monstera"}')
  expect((await response)[0].statusCode).toBe(200)
  await ended
})

test('a Node.js that is too old and cannot be replaced is an error with the fix, and what npm says', () => {
  const [folder, bin] = [temporaryFolder(), temporaryFolder()]
  cpSync(`${root}scripts`, `${folder}/scripts`, { recursive: true })
  copyFileSync(`${root}pnpm-workspace.yaml`, `${folder}/pnpm-workspace.yaml`)
  writeFileSync(`${folder}/package.json`, JSON.stringify({ ...manifest, engines: { node: '>=99.1.0' } }))
  writeFileSync(`${bin}/npm`, '#!/bin/sh\necho "npm error network $@" >&2\nexit 1\n', { mode: 0o755 })
  const settings = { PATH: `${bin}:/usr/bin:/bin` }
  const { status, stderr } = run(process.execPath, [`${folder}/scripts/setup.mjs`], settings)
  expect(status).toBe(1)
  const { node } = process.versions
  expect(stderr).toContain(`Node.js ${node} is too old (>=99.1.0): installing another`)
  expect(stderr).toMatch(/Install Node\.js 24: .*npm cannot install .* as scripts\/node names it\.\nnpm error network/)
  // What a user's own settings say instead would install nothing.
  expect(stderr).toMatch(/ci .*--include=optional --no-global --location=project --no-dry-run --no-workspaces/)
})

test('what is installed next to the workspace has lockfiles, with an integrity and no registry', () => {
  const list = run('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*package-lock.json']).stdout
  const files = list.trim().split('\n')
  const { updates } = parse(readFileSync(`${root}.github/dependabot.yml`, 'utf8'))
  const covered = updates.flatMap(({ directories = [] }) => directories)
  expect(covered).toEqual(['/', ...files.map((file) => `/${path.dirname(file)}`).sort()])
  for (const file of files) {
    const { '': _, ...packages } = readLockfile(file)
    for (const [name, { integrity, resolved, inBundle }] of Object.entries(packages)) {
      if (!inBundle) expect([integrity, resolved], name).toEqual([expect.stringMatching(/^sha512-/), undefined])
    }
  }
})

function readLockfile(file: string): Record<string, Record<string, unknown>> {
  return JSON.parse(readFileSync(root + file, 'utf8')).packages
}

test('the set-up has a supported Node.js for every platform, and the oldest one is that of CI and of each package', () => {
  const { '': _, ...packages } = readLockfile('scripts/node/package-lock.json')
  const found = Object.values(packages)
  const platforms = ['darwin arm64', 'darwin x64', 'linux arm64', 'linux x64', 'win32 x64']
  expect(found.map(({ os, cpu }) => `${os} ${cpu}`).sort()).toEqual(platforms)
  const oldest = manifest.engines.node.replace('>=', '')
  const isSupported = (version: unknown) => String(version).localeCompare(oldest, 'en', { numeric: true }) >= 0
  expect(found.filter(({ version }) => !isSupported(version))).toEqual([])
  expect(readFileSync(`${root}.github/workflows/ci.yml`, 'utf8')).toContain(`- ${oldest}-bookworm@`)
  const others = ['contract', 'prisma', 'server'].map((name) => readFileSync(`${root}${name}/package.json`, 'utf8'))
  for (const other of others) expect(JSON.parse(other).engines).toEqual(manifest.engines)
})
