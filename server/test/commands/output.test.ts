/** What the commands do if their output cannot be written: to a full disk, a closed descriptor, a closed pipe. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import { beforeEach, describe, expect, test } from 'vitest'
import { writeNewDatabase } from '../../../test/helpers/database/new-database.ts'
import { query, runSql } from '../../../test/helpers/database/sqlite.ts'
import { type CommandResult, commandLine, runCommand } from '../../../test/helpers/server/run-command.ts'
import { temporaryDatabase } from '../../../test/helpers/temporary-folder.ts'

let environment: { DATABASE_URL: string }
let file: string
beforeEach(async () => {
  const database = temporaryDatabase()
  file = database.file
  environment = { DATABASE_URL: database.url }
  await writeNewDatabase(file)
})

/** Runs a command with a redirection or a pipe. */
async function runInShell(command: string, rest: string, more: Record<string, string> = {}): Promise<CommandResult> {
  const words = commandLine([]).map((word) => `'${word}'`)
  const env = { PATH: process.env['PATH'], ...environment, ...more }
  const script = `set -o pipefail; ${words.join(' ')} ${command} ${rest}`
  return await promisify(execFile)('bash', ['--norc', '-c', script], { env }).then(
    ({ stdout, stderr }) => ({ exitCode: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ exitCode: code, stdout, stderr }),
  )
}

function listTokens(): { id: string; revokedAt: unknown }[] {
  return query(file, 'SELECT "id", "revokedAt" FROM "Token"') as ReturnType<typeof listTokens>
}

describe.skipIf(!existsSync('/dev/full'))('token create', { timeout: 180_000 }, () => {
  test.each([
    ['a full disk', '> /dev/full', 'ENOSPC'],
    ['a closed descriptor', '>&-', 'EBADF'],
    ['a read-only descriptor', '1< /dev/null', 'EBADF'],
    ['a closed pipe', '| true', 'EPIPE'],
  ])('to %s fails and revokes the token', async (_, rest, code) => {
    const { exitCode, stdout, stderr } = await runInShell('token create --account alice', rest, { LOG_LEVEL: 'silent' })
    expect([exitCode, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(new RegExp(`^plant-store: the token is revoked.* \\(${code}\\).*\\n$`))
    expect(listTokens()).toMatchObject([{ revokedAt: expect.anything() }])
  })

  test.each(['2> /dev/full', '2>&-'])('succeeds if its log cannot be written (%s)', async (rest) => {
    const { exitCode, stdout } = await runInShell('token create --account alice', rest)
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^pst_\w{49}\n$/)])
    expect(listTokens()).toMatchObject([{ revokedAt: null }])
  })

  test('logs created and revoked tokens to standard error, but never the secret', async () => {
    const created = await runCommand(['token', 'create', '--account', 'alice', '--scope', 'read'], environment)
    const [token] = listTokens()
    const tokenId = token?.id ?? ''
    const event = { level: 'info', tokenId, account: 'alice', scopes: ['read'], expiresAt: null }
    expect(JSON.parse(created.stderr)).toMatchObject({ ...event, event: 'token created' })
    expect(created.stderr).not.toMatch(/pst_|[0-9a-f]{64}/)
    const revoked = await runCommand(['token', 'revoke', tokenId], environment)
    expect(JSON.parse(revoked.stderr)).toMatchObject({ ...event, event: 'token revoked' })
    const silent = { ...environment, LOG_LEVEL: 'silent' }
    expect((await runCommand(['token', 'create', '--account', 'alice'], silent)).stderr).toBe('')
  })
})

describe.skipIf(!existsSync('/dev/full'))('output that cannot be written', { timeout: 180_000 }, () => {
  const RESULTS = ['token list', 'token --help', '--version']

  test.each([
    ['> /dev/full', 'ENOSPC'],
    ['>&-', 'EBADF'],
  ])('is an error of the commands that only print (%s)', async (rest, code) => {
    for (const command of RESULTS) {
      expect(await runInShell(command, rest), command).toEqual({
        exitCode: 1,
        stdout: '',
        stderr: expect.stringMatching(new RegExp(`^plant-store: .*\\(${code}\\).*\\n$`)),
      })
    }
  })

  test('is not an error if the pipe is closed or the output is discarded', async () => {
    for (const command of RESULTS) {
      expect(await runInShell(command, '| true'), command).toEqual({ exitCode: 0, stdout: '', stderr: '' })
    }
    expect(await runInShell('token list', '> /dev/null')).toEqual({ exitCode: 0, stdout: '', stderr: '' })
  })

  test('is an error of the other commands, which says what was done', async () => {
    runSql(file, `INSERT INTO "Token" ("id", "hash", "account", "scopes") VALUES ('one', 'hash', 'alice', 'read')`)
    const silent = { LOG_LEVEL: 'silent' }
    const copy = `${file}.copy`
    for (const [command, done] of [
      ['migrate', 'up to date'],
      [`backup '${copy}'`, copy],
      ['token revoke one', 'revoked one'],
    ] as const) {
      expect(await runInShell(command, '> /dev/full', silent), command).toEqual({
        exitCode: 1,
        stdout: '',
        stderr: expect.stringMatching(new RegExp(`^plant-store: .*${done}.* \\(ENOSPC\\).*\\n$`)),
      })
      if (command === 'migrate') expect(await runInShell(command, '| true')).toMatchObject({ exitCode: 0, stderr: '' })
    }
    expect(existsSync(copy)).toBe(true)
    expect(listTokens()).toMatchObject([{ revokedAt: expect.anything() }])
  })
})
