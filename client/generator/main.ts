/** Writes `src/generated`, the whole folder. A test fails if a file of it is stale. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { contract } from '@plant-store/contract'
import { generate } from './generate.ts'

const folder = fileURLToPath(new URL('../src/generated/', import.meta.url))
const files = Object.entries(generate(contract))

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder)
for (const [name, text] of files) writeFileSync(folder + name, text)
