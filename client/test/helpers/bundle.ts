import { gzipSync } from 'node:zlib'
import { contract } from '@plant-store/contract'
import { build } from 'esbuild'
import { generate } from '../../generator/generate.ts'
import { createSdk } from './generated-sdk.ts'

/** Bundles code for a browser. Returns it with its size after gzip, in bytes. */
export async function bundle(contents: string, resolveDir: string): Promise<{ text: string; size: number }> {
  const options = { bundle: true, minify: true, platform: 'browser', format: 'esm', write: false } as const
  const { outputFiles } = await build({ stdin: { contents, resolveDir }, ...options })
  const text = outputFiles[0]?.text ?? ''
  return { text, size: gzipSync(text, { level: 9 }).length }
}

/**
 * Returns how many bytes the bundle of a contract may have after gzip: those of the first two operations, of the writers and
 * readers that only the others use, and 100 for each other operation.
 */
export async function maxBundleSize(operations: Record<string, unknown> = contract): Promise<number> {
  const { createPlant, getPlants, ...others } = operations
  const { folder } = await createSdk({ createPlant, getPlants })
  const lines = generate(operations)['routes.ts']?.match(/^import \{.*$/gm) ?? []
  const names = lines.map((line) => /\{(.*)\}/.exec(line)?.[1])
  const contents = `
    import { createPlantStoreClient } from '../index.ts'
    ${lines.join('\n')}
    globalThis.used = [createPlantStoreClient, ${names}]`
  return (await bundle(contents, `${folder}/src/generated`)).size + 100 * Object.keys(others).length
}
