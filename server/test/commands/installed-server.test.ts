/** The commands of a server that is installed in an app, and its file `.env`. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { runProgram } from '../../../test/helpers/programs.ts'
import { installServer } from '../../../test/helpers/server/install-server.ts'
import { temporaryFolder } from '../../../test/helpers/temporary.ts'

/** Runs a command to its end. */
const run = (main: string, command: string, cwd: string, env: Record<string, string> = {}) =>
  runProgram([process.execPath, main, ...command.split(' ')], { cwd, env })

test('an installed server reads .env of its folder, and the environment wins; a release reads none', async () => {
  // What means something in URLs, to shells or to SQL.
  const cwd = path.join(temporaryFolder(), `C# apps/100% sure?/a?b=c/it's & more; $HOME`)
  mkdirSync(cwd, { recursive: true })
  const main = installServer(cwd)
  const release = installServer(temporaryFolder(), 'plant-store-1.0.0')
  const invalid = temporaryFolder()
  writeFileSync(path.join(cwd, '.env'), 'DATABASE_URL=file:./plants.db\nLOG_LEVEL=loud\n')
  expect(await run(main, 'migrate', cwd, { LOG_LEVEL: 'info' })).toMatchObject({ exitCode: 0, stderr: '' })
  expect(readdirSync(cwd)).toContain('plants.db')

  writeFileSync(path.join(invalid, '.env'), 'PORT=http\n')
  const stderr = expect.stringMatching(/^ {2}PORT must be a port number/m)
  expect(await run(main, 'serve', invalid)).toEqual({ exitCode: 2, stdout: '', stderr })
  const released = run(release, 'migrate', invalid, { DATABASE_URL: 'file:./plants.db' })
  expect(await released).toMatchObject({ exitCode: 0 })
})
