/** The commands of a server that is installed in an app: its folder, whatever its name, and its file `.env`. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { runProgram, startProgram } from '../../../test/helpers/programs.ts'
import { installServer } from '../../../test/helpers/server/install-server.ts'
import { temporaryFolder } from '../../../test/helpers/temporary.ts'

/** Runs a command to its end. */
const run = (main: string, command: string, cwd: string, env: Record<string, string> = {}) =>
  runProgram([process.execPath, main, ...command.split(' ')], { cwd, env })

// Windows allows few of these characters, which mean something in URLs, to shells or to SQL.
test.skipIf(process.platform === 'win32')('every command works in any folder, and on any file', async () => {
  const cwd = path.join(temporaryFolder(), `C# apps/100% sure?/a?b=c/it's "plänts" & more; $HOME`)
  mkdirSync(cwd, { recursive: true })
  const main = installServer(cwd)
  const env = { DATABASE_URL: '', PORT: '0' }
  await using server = await startProgram([process.execPath, main, 'serve'], /"msg":"ready"/, { cwd, env })
  const [, url] = /"url":"([^"]+)"/.exec(server.output()) ?? []
  const { stdout } = await run(main, 'token create --account me', cwd, env)
  const headers = { authorization: `Bearer ${stdout.trim()}`, 'content-type': 'application/json' }
  const created = await fetch(`${url}/plants`, { method: 'POST', headers, body: '{"id":1,"name":"Monstera"}' })
  expect(created.status).toBe(200)
  for (const command of ['migrate', 'backup ./a#b?c=d%20\\e.db']) {
    expect(await run(main, command, cwd, env), command).toMatchObject({ exitCode: 0, stderr: '' })
  }
  for (const file of ['a#b?c=d%20\\e.db', 'x y#? 50%.db']) {
    const result = await run(main, 'migrate', cwd, { DATABASE_URL: `file:./${file}` })
    expect(result, file).toMatchObject({ exitCode: 0, stderr: '' })
    expect(readdirSync(cwd)).toContain(file)
  }
})

test('an installed server reads .env of its folder, and the environment wins; a release reads none', async () => {
  const main = installServer(temporaryFolder())
  const release = installServer(temporaryFolder(), 'plant-store-1.0.0')
  const [cwd, invalid] = [temporaryFolder(), temporaryFolder()]
  writeFileSync(path.join(cwd, '.env'), 'DATABASE_URL=file:./plants.db\nLOG_LEVEL=loud\n')
  expect(await run(main, 'migrate', cwd, { LOG_LEVEL: 'info' })).toMatchObject({ exitCode: 0, stderr: '' })
  expect(readdirSync(cwd)).toContain('plants.db')

  writeFileSync(path.join(invalid, '.env'), 'PORT=8090\nPORT=8091\n')
  const stderr = `plant-store: ${invalid}/.env sets PORT twice: remove one of the lines\n`
  expect(await run(main, 'serve', invalid)).toEqual({ exitCode: 2, stdout: '', stderr })
  const released = run(release, 'migrate', invalid, { DATABASE_URL: 'file:./plants.db' })
  expect(await released).toMatchObject({ exitCode: 0 })
})
