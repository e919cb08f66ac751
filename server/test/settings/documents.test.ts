/** The files that list settings, and the file that sets them. */
import { execFileSync } from 'node:child_process'
import { cpSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { type SettingEntry, settingsTable } from '../../src/settings/table.ts'

// After a change of the table in the code, `vitest run server/test/settings -u` writes both documents again.

const entries = Object.entries<SettingEntry>(settingsTable)
const unsetOf = (entry: SettingEntry) => (entry.default === undefined ? (entry.unset ?? 'none') : undefined)
const WIDTH = 120
const TABLE = /^\| variable \| default \| meaning \|\n(?:\|.*\n)+/m

const EXAMPLE_HEAD = `# Copy to .env and change what you need; a line without # is the default. The real environment wins over this file.
# Times are written as 250ms, 30s or 15m, up to 24d; rates as 100/1s (requests in a time); sizes as 512kb or 1mb.
# One client (an account, or an address until the account is known) gets at most 8 times what is left of connections and
# requests in flight, and at most what is left of memory, so it never takes all of any.
`

test('.env.example lists every setting with its description and default', async () => {
  const blocks = entries.map(([name, entry]) => {
    const { description, example } = entry
    const unset = unsetOf(entry)
    const comment = wrap(unset === undefined ? description : `${description} Not set: ${unset}.`)
    return `\n${comment}\n${entry.default === undefined ? `# ${name}=${example}` : `${name}=${entry.default}`}\n`
  })
  await expect(EXAMPLE_HEAD + blocks.join('')).toMatchFileSnapshot(pathOf('.env.example'))
})

test('the table of settings in the README lists every setting with its default and description', async () => {
  const rows = entries.map(
    ([name, entry]) => `| \`${name}\` | ${unsetOf(entry) ?? `\`${entry.default}\``} | ${entry.description} |`,
  )
  const file = pathOf('server/README.md')
  const text = await readFile(file, 'utf8')
  expect(text).toMatch(TABLE)
  const expected = ['| variable | default | meaning |', '|---|---|---|', ...rows, ''].join('\n')
  await expect(text.replace(TABLE, () => expected)).toMatchFileSnapshot(file)
})

test('each setting has a default or an example', () => {
  for (const [name, { format, example, ...entry }] of entries) {
    expect([name, entry.default === undefined]).toEqual([name, example !== undefined])
    expect(format.safeParse(entry.default ?? example).error).toBeUndefined()
  }
})

test.each([
  ['a release does not read', 'plant-store-1.0.0', ''],
  ['a package in node_modules reads', 'node_modules/@plant-store/server', 'from the file'],
])('%s the file .env of the current folder', (_what, name, expected) => {
  const cwd = temporaryFolder()
  writeFileSync(path.join(cwd, '.env'), 'ACCESS_LOG=from the file\n')
  const server = path.join(cwd, name)
  const prisma = path.join(server, 'node_modules/@plant-store/prisma')
  // What reads settings, built, outside of the repository, with what it needs of the other package.
  cpSync(pathOf('server/dist/installation.js'), path.join(server, 'dist/installation.js'))
  cpSync(pathOf('prisma/dist/base-folder.js'), path.join(prisma, 'dist/index.js'))
  for (const folder of [server, prisma]) {
    writeFileSync(path.join(folder, 'package.json'), '{"type": "module", "exports": "./dist/index.js"}')
  }
  const code = `import { loadSettings } from '${pathToFileURL(path.join(server, 'dist/installation.js'))}'
    process.stdout.write(loadSettings().ACCESS_LOG ?? '')`
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', code], { cwd, env: {} })
  expect(String(output)).toBe(expected)
})

function pathOf(name: string): string {
  return fileURLToPath(new URL(`../../../${name}`, import.meta.url))
}

/** Breaks text into comment lines. */
function wrap(text: string): string {
  const lines = ['#']
  for (const word of text.split(' ')) {
    if (`${lines.at(-1)} ${word}`.length > WIDTH) lines.push('#')
    lines.push(`${lines.pop()} ${word}`)
  }
  return lines.join('\n')
}
