import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

/**
 * Bundles code for a browser. Returns it with its size after gzip, in bytes, and what cannot be written for the target.
 */
export async function bundle(contents: string, resolveDir: string, target = 'esnext') {
  const options = { bundle: true, minify: true, platform: 'browser', format: 'esm', write: false, target } as const
  const { outputFiles, warnings } = await build({ stdin: { contents, resolveDir }, ...options, logLevel: 'error' })
  const text = outputFiles[0]?.text ?? ''
  return { text, size: gzipSync(text, { level: 9 }).length, warnings }
}
