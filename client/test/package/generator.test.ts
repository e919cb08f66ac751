/** The generated files of the SDK. */
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { contract } from '@plant-store/contract'
import { expect, test } from 'vitest'
import { generate } from '../../generator/generate.ts'
import { createSdk, expectToCompile } from '../helpers/generated-sdk.ts'

const client = fileURLToPath(new URL('../..', import.meta.url))

test('the generated files are up to date, and no other is there', async () => {
  const folder = path.join(client, 'src/generated')
  const files = (await readdir(folder)).map(async (name) => [name, await readFile(path.join(folder, name), 'utf8')])
  const committed: Record<string, string> = Object.fromEntries(await Promise.all(files))
  expect(committed, 'run npm run generate').toEqual(generate(contract))
})

test('a contract without paged operations compiles', async () => {
  await expectToCompile((await createSdk({ createPlant: contract.createPlant })).folder)
})
