import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

/** Bundles code for a browser. Returns it with its size after gzip, in bytes. */
export async function bundle(contents: string, resolveDir: string): Promise<{ text: string; size: number }> {
  const options = { bundle: true, minify: true, platform: 'browser', format: 'esm', write: false } as const
  const { outputFiles } = await build({ stdin: { contents, resolveDir }, ...options })
  const text = outputFiles[0]?.text ?? ''
  return { text, size: gzipSync(text, { level: 9 }).length }
}
