/** The generated files of the SDK, and the names that the generator reserves. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { contract, NewPlantSchema } from '@plant-store/contract'
import { expect, test } from 'vitest'
import { generate } from '../../generator/generate.ts'
import { createSdk, expectToCompile } from '../helpers/generated-sdk.ts'

const client = fileURLToPath(new URL('../..', import.meta.url))

test('the generated files are up to date', async () => {
  for (const [name, text] of Object.entries(generate(contract))) {
    expect(await readFile(path.join(client, 'src/generated', name), 'utf8'), `${name}: run npm run generate`).toBe(text)
  }
})

test('a contract without paged operations compiles', async () => {
  await expectToCompile((await createSdk({ createPlant: contract.createPlant })).folder)
})

test.each(['PlantStoreError', 'DeclaredError', 'RawPage', 'Attempt', 'ErrorName', 'Promise', 'Operations'])(
  'a component cannot have the name %s, which apps import or the SDK uses',
  (id) => {
    const body = NewPlantSchema.meta({ id })
    expect(() => generate({ createPlant: { ...contract.createPlant, body } })).toThrow(`${id}: the SDK or JavaScript`)
  },
)
