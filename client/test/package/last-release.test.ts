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

/**
 * Writes the operations as functions. Unlike a method, a function does not accept one whose parameters are narrower. A generic
 * type would not do: the compiler compares its arguments, which have methods.
 */
const functionsOf = (operations: string) =>
  `{ [K in keyof ${operations}]: ${operations}[K] extends (...args: infer P) => infer R ? (...args: P) => R : never }`

/** Whatever an app may do with the operations and types of a release, it may do with those of now. */
const comparison = (release: string, names: string[]) => `
import type * as Now from './index.ts'
import type { Operations, OperationResponses, PagedOperationName } from './operations-${release}.ts'
import type * as Types from './types-${release}.ts'

declare const now: { calls: ${functionsOf('Now.Operations')}; responses: Now.OperationResponses }
now satisfies { calls: ${functionsOf('Operations')}; responses: OperationResponses }
declare const paged: PagedOperationName
paged satisfies Now.PagedOperationName
// A type that lacks an optional field would still fit.
type Fields<T> = T extends object ? keyof T : never
${names.map((name) => `;({}) as Fields<Types.${name}> satisfies Fields<Now.${name}>`).join('\n')}
`

test('an app of the last release compiles; one that uses what is gone, or that no longer fits, does not', async () => {
  const broken = {
    field: released.replace('"tag": {', '"label": {'),
    operation: released.replace('"getPlants"', '"listPlants"'),
    paged: released.replace('"x-idempotent"', '"x-paged": true, "x-idempotent"'),
    parameter: released.replace('"name": "cursor"', '"name": "page"'),
    optional: released.replace(/"required": \[\s*"id",\s*"name"/, '"required": ["id"'),
    present: released.replace(/"required": \[\s*"name"/, '"required": ["name", "tag"'),
    type: released.replaceAll('"format": "int64"', '"type": "string"'),
    status: released.replace('"200": {', '"200": { "description": "", "headers": {} }, "201": {'),
  }
  const releases = { ...broken, ...(!hasMajorChangeset('client') && { last: released }) }
  const { folder } = await createSdk({ ...contract })
  const write = (name: string, text: string) => writeFile(path.join(folder, 'src', name), text)
  await write('app.ts', app.replaceAll(/@plant-store\/client(\/testing)?/g, '.$1/index.ts'))
  for (const [release, document] of Object.entries(releases)) {
    const { 'types.ts': types = '', 'operations.ts': operations = '' } = generateFrom(JSON.parse(document))
    const names = [...types.matchAll(/^export (?:interface|type) (\w+)/gm)].map(([, name]) => name ?? '')
    await write(`types-${release}.ts`, types)
    const moved = operations.replaceAll("'../", "'./").replace("'./types.ts'", `'./types-${release}.ts'`)
    await write(`operations-${release}.ts`, moved)
    await write(`comparison-${release}.ts`, comparison(release, names))
  }
  const errors = await expectToCompile(folder).then(() => '', String)
  const expected = Object.keys(broken).map((name) => `src/comparison-${name}.ts`)
  const files = new Set(errors.match(/^src\/[^(]+(?=\(.*error TS)/gm))
  expect([...files].sort(), errors).toEqual(expected.sort())
})
