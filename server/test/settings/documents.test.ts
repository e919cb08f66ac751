import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
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
