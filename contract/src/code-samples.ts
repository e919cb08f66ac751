/** Shows how to call an operation: what readers of the document and of the page `/docs` copy. */
import type { JsonSchema } from './json-schema.ts'

/** A parameter as the document describes it. */
interface Parameter {
  readonly in: 'path' | 'query'
  readonly name: string
  readonly schema: JsonSchema
}

/**
 * Writes a call of an operation with the SDK and one with curl, of each field that has an example.
 *
 * @param path with each parameter in braces
 * @param body undefined: it has none
 */
export function writeSamples(
  operation: string,
  method: string,
  path: string,
  parameters: readonly Parameter[],
  body: JsonSchema | undefined,
) {
  const examplesIn = (part: Parameter['in']) =>
    examplesOf(parameters.filter((each) => each.in === part).map(({ name, schema }) => [name, schema]))
  const [inPath, inQuery] = [examplesIn('path'), examplesIn('query')]
  const inBody = body && examplesOf(Object.entries(body.properties ?? {}))
  const target = path.replace(/\{(\w+)\}/g, (whole, name) => String(inPath[name] ?? whole))
  const query = new URLSearchParams(inQuery as Record<string, string>)
  const curl = [
    `curl --request ${method} "$PLANT_STORE_URL${target}${query.size > 0 ? `?${query}` : ''}"`,
    '--header "Authorization: Bearer $PLANT_STORE_TOKEN"',
    ...(inBody ? [`--json '${JSON.stringify(inBody)}'`] : []),
  ]
  const input = JSON.stringify({ ...inPath, ...inQuery, ...inBody }, undefined, 1).replace(/\n */g, ' ')
  const source = `import { createPlantStoreClient } from '@plant-store/client'

const client = createPlantStoreClient() // of PLANT_STORE_URL and PLANT_STORE_TOKEN
console.log(await client.${operation}(${input}))`
  return [
    { lang: 'TypeScript', source },
    { lang: 'Shell', source: curl.join(' \\\n  ') },
  ]
}

/** Returns the first example of each field that has one. */
function examplesOf(fields: [name: string, schema: JsonSchema][]): Record<string, unknown> {
  const shown = fields.filter(([, { examples }]) => examples)
  return Object.fromEntries(shown.map(([name, { examples }]) => [name, examples?.[0]]))
}
