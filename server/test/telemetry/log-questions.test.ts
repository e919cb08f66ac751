/** The commands of docs/production/log.md that ask the log, run on the log of a server. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { codeBlock, isInstalled, readGuide, shell } from '../../../test/helpers/production/guide.ts'
import { startWithToken } from '../../../test/helpers/server/run-command.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'

const EXAMPLE_ID = '0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d'

test('who called what, everything about one request, and who fails to authenticate', async ({ skip }) => {
  if (!isInstalled('jq')) {
    console.log('The log is not asked: jq is not installed.')
    skip()
  }
  const folder = temporaryFolder()
  const { server, token: valid } = await startWithToken(folder, 'plants', { ACCESS_LOG: 'on' })
  const call = (token: string, id: string) =>
    fetch(`${server.url}/plants`, { headers: { authorization: `Bearer ${token}`, 'x-request-id': id } })
  await call(valid, EXAMPLE_ID)
  await call(valid, 'second')
  await call('unknown', 'third')
  await server.end()
  // With what journalctl adds.
  writeFileSync(path.join(folder, 'plants.log'), `${server.output()}Stopped Plant store.\n`)

  const guide = readGuide('log.md')
  const ask = (block: number) => shell(`cd ${folder}\n${codeBlock(guide, 'Ask the log', block)}`)
  expect((await ask(0)).split('\n').map((line) => line.trim())).toEqual([
    expect.stringMatching(/^2 alice\tGET\t\/plants\t200$/),
    expect.stringMatching(/^1 \tGET\t\/plants\t401$/),
    '',
  ])
  const lines = (await ask(1)).trim().split('\n')
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ requestId: EXAMPLE_ID, status: 200 }),
  ])
  expect(await ask(2)).toBe('127.0.0.1\t1\n')
})
