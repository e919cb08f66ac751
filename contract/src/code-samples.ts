/** Shows how to call an operation: what readers of the document and of the page `/docs` copy. */
import type { JsonSchema } from './json-schema.ts'

/** A field of a request, as the document describes it. */
interface Field {
  readonly in: 'path' | 'query' | 'body'
  readonly name: string
  readonly schema: JsonSchema
}

/**
 * Writes a call of an operation with the SDK and one with curl, of each field that has an example.
 *
 * @param path with each parameter in braces
 */
export function writeSamples(operation: string, method: string, path: string, fields: readonly Field[]) {
  const shown = fields.filter(({ schema }) => schema.examples)
  const examplesIn = (...parts: Field['in'][]): Record<string, unknown> => {
    const own = shown.filter((field) => parts.includes(field.in))
    return Object.fromEntries(own.map(({ name, schema }) => [name, schema.examples?.[0]]))
  }
  const target = path.replace(/\{(\w+)\}/g, (whole, name) => String(examplesIn('path')[name] ?? whole))
  const query = new URLSearchParams(examplesIn('query') as Record<string, string>)
  const body = fields.some((field) => field.in === 'body') && `--json '${JSON.stringify(examplesIn('body'))}'`
  const curl = [
    `curl --request ${method} "$PLANT_STORE_URL${target}${query.size > 0 ? `?${query}` : ''}"`,
    '--header "Authorization: Bearer $PLANT_STORE_TOKEN"',
    body,
  ]
  const input = JSON.stringify(examplesIn('path', 'query', 'body'), undefined, 1).replace(/\n */g, ' ')
  const source = `import { createPlantStoreClient } from '@plant-store/client'

const client = createPlantStoreClient() // of PLANT_STORE_URL and PLANT_STORE_TOKEN
console.log(await client.${operation}(${input}))`
  return [
    { lang: 'TypeScript', source },
    { lang: 'Shell', source: curl.filter(Boolean).join(' \\\n  ') },
  ]
}
