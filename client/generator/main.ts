/** Writes `src/generated`, the whole folder, and the list of operations in README.md. A test fails if one is stale. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { contract } from '@plant-store/contract'
import { generate } from './generate.ts'

const folder = fileURLToPath(new URL('../src/generated/', import.meta.url))
const files = Object.entries(generate(contract))

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder)
for (const [name, text] of files) writeFileSync(folder + name, text)

const readme = fileURLToPath(new URL('../../README.md', import.meta.url))
const names = Object.values(contract).map(({ method, path }) => `\`${method} ${path}\``)
const list = `Its operations are ${new Intl.ListFormat('en-GB').format(names)}.`
writeFileSync(readme, readFileSync(readme, 'utf8').replace(/^Its operations are [^.]*\./m, list))
