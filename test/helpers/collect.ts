import type { Readable } from 'node:stream'

/** Collects the text of streams, and returns what returns all of it so far. */
export function collect(...streams: (Readable | null)[]): () => string {
  let output = ''
  for (const stream of streams) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  return () => output
}
