/** The files that list settings: `npm run --silent --prefix server write-settings` writes both from the schema. */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import type * as z from 'zod'
import { SettingsSchema, variableOf } from '../../src/settings.ts'

const TABLE = /^\| variable \| default \| meaning \|\n(?:\|.*\n)+/m
const EXAMPLE_HEAD = `# Copy to .env and change what you need; a line without # is the default. The real environment wins over this file.
# A value is taken as it is, without variables such as $HOME. Quote one that contains # or begins with a quote.
# Times are written as 250ms, 30s or 15m, up to 24d; rates as 100/1s (requests in a time).
# One client (an account, or an address until the account is known) gets at most 8 times what is left of connections and
# requests in flight, so it never takes all of them.
`

const settings = Object.entries<z.ZodType>(SettingsSchema.shape).map(([name, schema]) => {
  const { def } = schema as z.ZodPrefault | z.ZodOptional
  return {
    variable: variableOf(name),
    schema,
    description: schema.description ?? '',
    default: 'defaultValue' in def ? String(def.defaultValue) : undefined,
    example: [schema.meta()?.['examples']].flat()[0] as string | undefined,
  }
})

test('.env.example lists every setting with its description, and its default or an example', async () => {
  const blocks = settings.map(({ variable, description, example, ...setting }) => {
    const line = setting.default === undefined ? `# ${variable}=${example}` : `${variable}=${setting.default}`
    return `\n${wrap(description)}${line}\n`
  })
  await expect(EXAMPLE_HEAD + blocks.join('')).toMatchFileSnapshot(pathOf('.env.example'))
})

test('the table of settings in the README lists every setting with its default and description', async () => {
  const rows = settings.map(({ variable, description, ...setting }) => {
    const value = setting.default === undefined ? 'not set' : `\`${setting.default}\``
    return `| \`${variable}\` | ${value} | ${description} |`
  })
  const file = pathOf('server/README.md')
  const text = await readFile(file, 'utf8')
  expect(text).toMatch(TABLE)
  const expected = ['| variable | default | meaning |', '|---|---|---|', ...rows, ''].join('\n')
  await expect(text.replace(TABLE, () => expected)).toMatchFileSnapshot(file)
})

test('every setting has a description, and a valid default or example', () => {
  for (const { variable, schema, description, example, ...setting } of settings) {
    expect([variable, description]).toEqual([variable, expect.stringMatching(/\.$/)])
    expect(schema.safeParse(setting.default ?? example).error, variable).toBeUndefined()
  }
})

function pathOf(name: string): string {
  return fileURLToPath(new URL(`../../../${name}`, import.meta.url))
}

/** Breaks text into comment lines of at most 120 characters. */
function wrap(text: string): string {
  return text.replaceAll(/(.{1,118})(?: |$)/g, '# $1\n')
}
