/** The commands that make, list and revoke tokens: on a database that is not there, outdated or busy. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../prisma/test/helpers/temporary-folder.ts'
import { runCommand } from './helpers/run-command.ts'

const COMMANDS = [
  ['token', 'create', '--account', 'alice'],
  ['token', 'list'],
  ['token', 'revoke', 'nothing'],
]

describe.each(COMMANDS.map((args) => ({ command: args.slice(0, 2).join(' '), args })))('$command', ({ args }) => {
  test('on a missing database creates nothing, and says what to run', async () => {
    const folder = temporaryFolder()
    const file = path.join(folder, 'typo', 'plants.db')
    const { exitCode, stdout, stderr } = await runCommand(args, { DATABASE_URL: `file:${file}` })
    expect({ exitCode, stdout, stderr }).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: `plant-store: ${file} does not exist: run "plant-store migrate" to create it, or check DATABASE_URL\n`,
    })
    expect(readdirSync(folder)).toEqual([])
  })

  test('on an outdated database migrates nothing, and says what to run', async () => {
    const file = path.join(temporaryFolder(), 'plants.db')
    writeFileSync(file, '')
    const { exitCode, stdout, stderr } = await runCommand(args, { DATABASE_URL: `file:${file}` })
    expect([exitCode, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/^plant-store: \S+plants\.db needs the migration \S+: run "plant-store migrate"\n$/)
    expect(readdirSync(path.dirname(file))).toEqual(['plants.db'])
  })
})

test('backup of a missing database creates neither of the two files', async () => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'typo', 'plants.db')
  const { exitCode, stderr } = await runCommand(['backup', path.join(folder, 'copy.db')], {
    DATABASE_URL: `file:${file}`,
  })
  expect(exitCode).toBe(1)
  expect(stderr).toMatch(/^plant-store: \S+plants\.db does not exist: .*"plant-store migrate".* DATABASE_URL\n$/)
  expect(existsSync(path.join(folder, 'copy.db'))).toBe(false)
  expect(readdirSync(folder)).toEqual([])
})
