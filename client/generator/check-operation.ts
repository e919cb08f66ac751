import { type Components, type OperationDescription, type ParameterPlace, resolve } from './description.ts'
import { type Field, reject } from './schema.ts'

/** Names that the client itself uses; with `then`, a client would be awaited like a promise. */
const RESERVED_NAMES = ['safe', 'raw', 'iterate', 'withOptions', 'then', 'toJSON', 'constructor']

/**
 * Checks what the SDK demands of an operation, in addition to the OpenAPI document.
 *
 * @throws Error if the SDK cannot do what the operation says: the message names operation, place and fix
 */
export function checkOperation(operation: OperationDescription, components: Components): void {
  const { name, method, parameters, body, paged } = operation
  if (method === 'GET' && body) reject(`${name}: body`, 'a GET request has no body; use the query, or POST')
  if (RESERVED_NAMES.includes(name)) reject(name, 'the SDK uses this name; rename the operation')
  if (!/^[a-z]\w*$/.test(name)) reject(name, 'must be a name such as getPlant; rename the operation')
  for (const [place, fields] of Object.entries(parameters)) {
    for (const field of fields)
      checkParameter(field, place as ParameterPlace, components, `${name}: ${place}.${field.name}`)
  }
  if (paged) checkPaged(operation, components)
}

function checkPaged({ name, parameters, responses }: OperationDescription, components: Components): void {
  const lists = responses.every(({ schema }) => schema && resolve(schema, components).kind === 'list')
  if (!lists || responses.length > 1) reject(name, 'only a list can be paged; return a list, or remove `paged`')
  for (const parameter of ['limit', 'cursor']) {
    if (parameters.query.some((field) => field.name === parameter && !field.required)) continue
    reject(`${name}: query`, `a paged operation has an optional \`${parameter}\`; add it, or remove \`paged\``)
  }
}

function checkParameter(field: Field, place: ParameterPlace, components: Components, label: string): void {
  const schema = resolve(field.schema, components)
  const item = place === 'query' && schema.kind === 'list' ? resolve(schema.items, components) : schema
  const isNull = item.kind === 'literal' && item.values.includes(null)
  if (['object', 'record', 'union', 'list'].includes(item.kind) || isNull) {
    reject(label, 'must be text, a number, a boolean, an int64 or an enum, or a list of one of these in a query')
  }
}
