/** The commands in a folder whose path has characters that mean something in URLs, to shells or to SQL. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { installServer } from '../../../test/helpers/server/install-server.ts'
import { startProgram } from '../../../test/helpers/start-program.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'

// Windows allows few of them.
test.skipIf(process.platform === 'win32')('every command works in any folder, and on any file', async () => {
  const cwd = path.join(temporaryFolder(), `C# apps/100% sure?/a?b=c/it's "plänts" & more; $HOME`)
  mkdirSync(cwd, { recursive: true })
  const main = installServer(cwd)
  const environment = { DATABASE_URL: '', PORT: '0' }
  const run = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], {
      cwd,
      env: environment,
      encoding: 'utf8',
    })
    expect([args.join(' '), status, stderr.replace(/^.*"msg":"token created".*\n/m, '')]).toEqual([
      args.join(' '),
      0,
      '',
    ])
    return stdout.trim()
  }
  await using server = await startProgram([process.execPath, main, 'serve'], /"msg":"ready"/, { cwd, env: environment })
  const [, url] = /"url":"([^"]+)"/.exec(server.output()) ?? []
  const headers = {
    authorization: `Bearer ${run('token', 'create', '--account', 'me')}`,
    'content-type': 'application/json',
  }
  expect((await fetch(`${url}/plants`, { method: 'POST', headers, body: '{"id":1,"name":"Monstera"}' })).status).toBe(
    200,
  )
  run('migrate')
  run('backup', './a#b?c=d%20\\e.db')
  for (const file of ['./a#b?c=d%20\\e.db', '50%.db', './x y#?.db']) {
    environment.DATABASE_URL = `file:${file}`
    run('migrate')
    expect(readdirSync(cwd)).toContain(path.basename(file))
  }
})
