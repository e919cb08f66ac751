/** The lines that docs/production/log.md shows are those that a server writes, and its commands ask such lines. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { newDatabase, runSql } from '../../../test/helpers/database/databases.ts'
import { codeBlock, codeBlocks, isInstalled, readGuide, shell } from '../../../test/helpers/production/guide.ts'
import { startServerProcess } from '../../../test/helpers/server/run-command.ts'
import { createPlant } from '../../../test/helpers/server/start-writing.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { runInProcess } from '../helpers/commands/run-in-process.ts'
import { type LogLine, readLines } from '../helpers/telemetry/log-lines.ts'
import { exchange } from '../helpers/wire/connection.ts'

const guide = readGuide('log.md')
const examples: LogLine[] = codeBlocks(guide, 'json').map((text) => JSON.parse(text))

/** The id that the guide asks for. */
const ID = '0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d'

/** Lets a server write the lines that the guide shows. */
async function writeAll(): Promise<string> {
  const DATABASE_URL = await newDatabase()
  const settings = { NODE_ENV: 'production', ACCESS_LOG: 'on', RATE_LIMIT: '3/10m' }
  const server = await startServerProcess({ DATABASE_URL, ...settings })
  const created = await runInProcess(['token', 'create', '--account', 'alice'], { DATABASE_URL })
  const token = created.stdout.trim()
  const statusOf = async (id: number) => (await createPlant(server.url, token, id)).status
  const list = async (headers: Record<string, string>) => (await fetch(`${server.url}/plants`, { headers })).status
  expect(await statusOf(1)).toBe(200)
  expect(await list({ authorization: `Bearer ${token}`, 'x-request-id': ID })).toBe(200)
  expect(await list({ authorization: 'Bearer unknown' })).toBe(401)
  await exchange(server.url, 'no request\r\n\r\n')
  await runSql(DATABASE_URL, 'ALTER TABLE "Plant" RENAME TO "Gone"')
  expect([await statusOf(2), await statusOf(3)]).toEqual([500, 429])
  expect(await server.end()).toBe(0)
  return created.stderr + server.output()
}

let output: Promise<string> | undefined
/** Returns what is written once for all tests. */
async function written(): Promise<string> {
  output ??= writeAll()
  return output
}

/** Returns the names of all fields, and of an error those that all errors have. */
function fieldsOf(line: LogLine): string[] {
  const { err } = line as { err?: object }
  const common = Object.keys(err ?? {}).filter((name) => ['type', 'message', 'stack'].includes(name))
  return [...Object.keys(line), ...common]
}

/** Returns an id with zeros for its hexadecimal digits. */
function shapeOf(id: unknown): string {
  return String(id).replace(/[\da-f]/g, '0')
}

test('docs/production/log.md shows lines that a server writes, and explains every event and field', async () => {
  // With the command of a release instead of that of a checkout.
  const command = ' with "plant-store token create --account me"'
  const lines = readLines(await written()).map(
    (line): LogLine => ({
      ...line,
      msg: String(line['msg']).replace(/(?<=create a token), in the same folder, with .*/, command),
    }),
  )
  for (const example of examples) {
    const written = lines.find((line) => line['msg'] === example['msg'])
    expect(written, `a line says ${example['msg']}`).toBeDefined()
    expect(fieldsOf(written ?? {})).toEqual(fieldsOf(example))
    expect(shapeOf(example['tokenId'])).toBe(shapeOf(written?.['tokenId']))
    expect(written).toMatchObject({ level: example['level'], ...(example.event && { event: example.event }) })
  }
  for (const event of lines.flatMap((line) => line.event ?? [])) expect(guide).toContain(event)
  for (const name of Object.keys(examples[0] ?? {})) expect(guide).toMatch(new RegExp(`^\\|[^|]*\`${name}\``, 'm'))
})

test('its commands say who called what, everything about one request, and who fails to authenticate', async ({
  skip,
}) => {
  if (!isInstalled('jq')) skip('jq is not installed.')
  const folder = temporaryFolder()
  // With what journalctl adds.
  writeFileSync(path.join(folder, 'plants.log'), `${await written()}Stopped Plant store.\n`)
  const ask = async (block: number) => (await shell(codeBlock(guide, 'Ask the log', block), { cwd: folder })).trim()
  expect(await ask(0)).toMatch(/^ *1 alice\tGET\t\/plants\t200$/m)
  expect(JSON.parse(await ask(1))).toMatchObject({ requestId: ID, status: 200 })
  expect(await ask(2)).toBe('1 127.0.0.1')
})
