/** The file `.env`, as the commands of an installed server read it. */
import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { installServer } from '../../../test/helpers/server/install-server.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'

/** Runs a command in a folder with a file `.env`. */
function run(main: string, args: string[], settings: string, environment: Record<string, string> = {}) {
  const cwd = temporaryFolder()
  writeFileSync(path.join(cwd, '.env'), settings)
  const options = { cwd, env: { ...environment }, encoding: 'utf8' } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], options)
  return { cwd, status, stdout, stderr }
}

const main = installServer(temporaryFolder())

test('a first line after a byte order mark is read, and the environment wins', () => {
  const settings = '\uFEFFDATABASE_URL=file:./plants.db\r\nLOG_LEVEL=loud\r\n'
  const { cwd, status, stderr } = run(main, ['migrate'], settings, { LOG_LEVEL: 'info' })
  expect([status, stderr]).toEqual([0, ''])
  expect(existsSync(path.join(cwd, 'plants.db'))).toBe(true)
})

test.each([
  ['serve'],
  ['token', 'list'],
  ['migrate'],
  ['backup', 'copy.db'],
  ['copy', '--from', 'file:./a.db', '--to', 'file:./b.db'],
])('a line that is not a setting ends %s with exit code 2, the file and the line', (...args) => {
  const { cwd, status, stdout, stderr } = run(main, args, '# A port.\nPORT: 8090\n')
  const reason = 'this is neither NAME=value nor a comment; write for example PORT=8090'
  expect(stderr).toBe(`plant-store: ${cwd}/.env, line 2: ${reason}\n`)
  expect([status, stdout]).toEqual([2, ''])
})

test('a release reads no file .env', () => {
  const release = installServer(temporaryFolder(), 'plant-store-1.0.0')
  const { cwd, status } = run(release, ['migrate'], 'PORT: 8090\n', { DATABASE_URL: 'file:./plants.db' })
  expect(status).toBe(0)
  expect(existsSync(path.join(cwd, 'plants.db'))).toBe(true)
})
