import type { Components, JsonSchema, Operation, Parameter } from './openapi-document.ts'

/** Writes how to call an operation, with the examples of its schemas: what is required, and what has an example. */
export function writeSamples(operation: Operation, method: string, path: string, components: Components) {
  const { operationId, parameters, requestBody } = operation
  const valuesOf = (part: Parameter['in']): [string, unknown][] => {
    const own = parameters.filter((each) => each.in === part && (each.required || each.schema.examples))
    return own.map((each) => [each.name, exampleOf(each.schema, components)])
  }
  const [inPath, inQuery] = [Object.fromEntries(valuesOf('path')), valuesOf('query')]
  const pairs = inQuery.flatMap(([field, value]) => [value].flat().map((each): [string, string] => [field, `${each}`]))
  const query = pairs.length > 0 ? `?${new URLSearchParams(pairs)}` : ''
  const target = path.replace(/\{(\w+)\}/g, (_, field) => encodeURIComponent(String(inPath[field]))) + query
  const sent = requestBody && (exampleOf(requestBody.content['application/json'].schema, components) as object)
  const json = JSON.stringify(sent)
  const input = JSON.stringify({ ...inPath, ...Object.fromEntries(inQuery), ...sent }, null, 1).replace(/\n */g, ' ')
  const curl = [
    `curl --fail-with-body "$PLANT_STORE_URL${target}"`,
    '--header "Authorization: Bearer $PLANT_STORE_TOKEN"',
    method !== (json ? 'POST' : 'GET') && `--request ${method}`,
    json && `--json '${json.replaceAll("'", "'\\''")}'`,
  ]
  const source = `import { createPlantStoreClient } from '@plant-store/client'

const client = createPlantStoreClient() // of PLANT_STORE_URL and PLANT_STORE_TOKEN
console.log(await client.${operationId}(${input.replace('{}', '')}))`
  return [
    { lang: 'TypeScript', source },
    { lang: 'Shell', source: curl.filter(Boolean).join(' \\\n  ') },
  ]
}

/** Returns the example of a schema, or else a value of its type. */
function exampleOf({ $ref, examples, items, properties = {}, ...own }: JsonSchema, components: Components): unknown {
  if ($ref !== undefined) return exampleOf(components[String($ref.split('/').at(-1))] ?? {}, components)
  if (items) return [exampleOf(items, components)]
  const [type] = [own.type].flat()
  if (type !== 'object') return examples?.[0] ?? own.enum?.[0] ?? { boolean: true, string: 'text' }[String(type)] ?? 1
  const shown = Object.entries(properties).filter(([name, each]) => own.required?.includes(name) || each.examples)
  return Object.fromEntries(shown.map(([name, each]) => [name, exampleOf(each, components)]))
}
