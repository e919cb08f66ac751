/** The generated files of the SDK, and the names that the generator reserves. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { contract } from '@plant-store/contract'
import { expect, test } from 'vitest'
import { LIBRARY_NAMES } from '../../generator/types.ts'
import { createProject, expectToCompile, generateFrom } from '../helpers/generated-sdk.ts'

const client = fileURLToPath(new URL('../..', import.meta.url))

test('the generated files are up to date', async () => {
  for (const [name, text] of Object.entries(generateFrom(contract))) {
    expect(await readFile(path.join(client, 'src/generated', name), 'utf8'), `${name}: run npm run generate`).toBe(text)
  }
})

test('a contract without paged operations compiles', async () => {
  await expectToCompile(await createProject(generateFrom({ createPlant: contract.createPlant })))
})

test('the names that the library exports are reserved', async () => {
  const index = await readFile(path.join(client, 'src/index.ts'), 'utf8')
  const lists = [...index.matchAll(/export (?:type )?\{([^}]*)\}/g)].flatMap(([, list = '']) => list.split(','))
  const names = lists.map((entry) => entry.replace('type ', '').trim()).filter((name) => /^[A-Z]/.test(name))
  expect([...LIBRARY_NAMES].sort()).toEqual(names.sort())
})
