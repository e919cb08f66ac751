/** An app that compiles with the types of the last release compiles with those of the contract. */
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { contract } from '@plant-store/contract'
import { expect, test } from 'vitest'
import { hasMajorChangeset } from '../../../test/helpers/major-changeset.ts'
import { generateFrom } from '../../generator/generate.ts'
import { createSdk, expectToCompile } from '../helpers/generated-sdk.ts'

const workspace = fileURLToPath(new URL('../../..', import.meta.url))
const released = await readFile(path.join(workspace, 'contract/released.json'), 'utf8')
const app = await readFile(path.join(workspace, 'client/test/consumer/app.mts'), 'utf8')

/** Whatever an app may do with the operations and types of the release, it may do with those of now. */
const comparison = (names: string[]) => `
import type * as Now from './index.ts'
import type { Operations, OperationResponses, PagedOperationName } from './released-operations.ts'
import type * as Types from './released-types.ts'

// Unlike a method, a function does not accept one whose parameters are narrower.
type Functions<T> = { [K in keyof T]: T[K] extends (...args: infer P) => infer R ? (...args: P) => R : never }
declare const now: { calls: Functions<Now.Operations>; responses: Now.OperationResponses }
now satisfies { calls: Functions<Operations>; responses: OperationResponses }
declare const paged: PagedOperationName
paged satisfies Now.PagedOperationName
// A type that lacks an optional field would still fit.
type Fields<T> = T extends object ? keyof T : never
${names.map((name) => `;({}) as Fields<Types.${name}> satisfies Fields<Now.${name}>`).join('\n')}
`

async function compileWith(document: string): Promise<void> {
  const { folder } = await createSdk({ ...contract })
  const { 'types.ts': types = '', 'operations.ts': operations = '' } = generateFrom(JSON.parse(document))
  const names = [...types.matchAll(/^export (?:interface|type) (\w+)/gm)].map(([, name]) => name ?? '')
  const toSource = (text: string) => text.replaceAll("'../", "'./").replace("'./types.ts'", "'./released-types.ts'")
  const files = {
    'released-types.ts': types,
    'released-operations.ts': toSource(operations),
    'comparison.ts': comparison(names),
    'app.ts': app
      .replaceAll('@plant-store/client/testing', './testing/index.ts')
      .replace('@plant-store/client', './index.ts'),
  }
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, 'src', name), text)
  await expectToCompile(folder)
}

test.skipIf(hasMajorChangeset('client'))('an app of the last release compiles', () => compileWith(released))

test.each([
  ['a field', released.replace('"tag": {', '"label": {')],
  ['an operation', released.replace('"getPlants"', '"listPlants"')],
  ['an optional parameter', released.replace('"name": "cursor"', '"name": "page"')],
])('an app that uses %s that is gone does not', async (_, document) => {
  expect(document).not.toBe(released)
  await expect(compileWith(document)).rejects.toThrow(/error TS/)
})
