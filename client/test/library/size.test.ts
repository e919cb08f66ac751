/** What an SDK costs in a browser: what its contract needs, and no more. */
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { contract, ErrorSchema } from '@plant-store/contract'
import { build } from 'esbuild'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { createProject, generateFrom } from '../helpers/generated-sdk.ts'
import { library } from './contract.ts'

const getCount = {
  method: 'GET',
  path: '/count',
  responses: { 200: z.object({ count: z.int64() }), 500: ErrorSchema },
  metadata: { scope: 'read' },
}

/** Bundles the SDK of a contract as an app would, and returns it minified. */
async function bundle(operations: Record<string, unknown>): Promise<string> {
  const folder = await createProject(generateFrom(operations))
  const result = await build({
    stdin: { contents: `export { createPlantStoreClient } from './index.ts'`, resolveDir: path.join(folder, 'src') },
    bundle: true,
    minify: true,
    platform: 'browser',
    format: 'esm',
    write: false,
  })
  return result.outputFiles[0]?.text ?? ''
}

function gzipSize(text: string): number {
  return gzipSync(text, { level: 9 }).length
}

test('the exact reader is in a bundle only if a response has an int64, and both sizes are within their limits', async () => {
  const [without, withReader] = [await bundle({ ...contract }), await bundle({ ...contract, getCount })]
  const sizes = [gzipSize(without), gzipSize(withReader)]
  console.log(`bundle of the plants: ${sizes[0]} B gzip; with an int64 in a response: ${sizes[1]} B`)
  expect(withReader).toContain('must be an int64')
  expect(without).not.toContain('must be an int64')
  expect(sizes[0]).toBeLessThanOrEqual(6600)
  expect(sizes[1]).toBeLessThanOrEqual(7150)
})

test('a contract of eight operations that uses everything costs at most 8.2 kB', async () => {
  const size = gzipSize(await bundle(library))
  console.log(`bundle of the library: ${size} B gzip`)
  expect(size).toBeLessThanOrEqual(8150)
})
