/** The commands of a server that is installed in an app: its folder, whatever its name, and its file `.env`. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { startProgram } from '../../../test/helpers/programs.ts'
import { installServer } from '../../../test/helpers/server/install-server.ts'
import { temporaryFolder } from '../../../test/helpers/temporary.ts'

/** Runs a command to its end. */
function run(main: string, command: string, cwd: string, environment: Record<string, string> = {}) {
  const options = { cwd, env: { ...environment }, encoding: 'utf8' } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...command.split(' ')], options)
  return { status, stdout: stdout.trim(), stderr }
}

// Windows allows few of these characters, which mean something in URLs, to shells or to SQL.
test.skipIf(process.platform === 'win32')('every command works in any folder, and on any file', async () => {
  const cwd = path.join(temporaryFolder(), `C# apps/100% sure?/a?b=c/it's "plänts" & more; $HOME`)
  mkdirSync(cwd, { recursive: true })
  const main = installServer(cwd)
  const env = { DATABASE_URL: '', PORT: '0' }
  await using server = await startProgram([process.execPath, main, 'serve'], /"msg":"ready"/, { cwd, env })
  const [, url] = /"url":"([^"]+)"/.exec(server.output()) ?? []
  const { stdout } = run(main, 'token create --account me', cwd, env)
  const headers = { authorization: `Bearer ${stdout}`, 'content-type': 'application/json' }
  const created = await fetch(`${url}/plants`, { method: 'POST', headers, body: '{"id":1,"name":"Monstera"}' })
  expect(created.status).toBe(200)
  for (const command of ['migrate', 'backup ./a#b?c=d%20\\e.db']) {
    expect(run(main, command, cwd, env), command).toMatchObject({ status: 0, stderr: '' })
  }
  for (const file of ['a#b?c=d%20\\e.db', '50%.db', 'x y#?.db']) {
    const result = run(main, 'migrate', cwd, { DATABASE_URL: `file:./${file}` })
    expect(result, file).toMatchObject({ status: 0, stderr: '' })
    expect(readdirSync(cwd)).toContain(file)
  }
})

test('an installed server reads .env of its folder, and the environment wins; a release reads none', () => {
  const main = installServer(temporaryFolder())
  const release = installServer(temporaryFolder(), 'plant-store-1.0.0')
  const [cwd, invalid] = [temporaryFolder(), temporaryFolder()]
  writeFileSync(path.join(cwd, '.env'), 'DATABASE_URL=file:./plants.db\nLOG_LEVEL=loud\n')
  expect(run(main, 'migrate', cwd, { LOG_LEVEL: 'info' })).toMatchObject({ status: 0, stderr: '' })
  expect(readdirSync(cwd)).toContain('plants.db')

  writeFileSync(path.join(invalid, '.env'), '# A port.\nPORT: 8090\n')
  const reason = 'this is neither NAME=value nor a comment; write for example PORT=8090'
  const stderr = `plant-store: ${invalid}/.env, line 2: ${reason}\n`
  expect(run(main, 'serve', invalid)).toEqual({ status: 2, stdout: '', stderr })
  expect(run(release, 'migrate', invalid, { DATABASE_URL: 'file:./plants.db' }).status).toBe(0)
})
