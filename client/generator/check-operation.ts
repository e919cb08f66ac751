import { type Components, type OperationDescription, type ParameterPlace, resolve } from './description.ts'
import { type Field, reject } from './schema.ts'

/** Names that the client itself uses; with `then`, a client would be awaited like a promise. */
const RESERVED_NAMES = ['safe', 'raw', 'iterate', 'withOptions', 'then', 'toJSON', 'constructor']
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
/** Headers that the SDK or the runtime sets. */
const RESERVED_HEADERS =
  /^(accept|accept-encoding|authorization|connection|content-.*|cookie|expect|host|origin|referer|sec-.*|te|trailer|transfer-encoding|upgrade|user-agent|via)$/

/**
 * Checks what the parts of an operation have to do with each other, and with the SDK.
 *
 * @throws Error if the SDK cannot do what the operation says: the message names operation, place and fix
 */
export function checkOperation(operation: OperationDescription, components: Components): void {
  const { name, method, path, parameters, body, responses, paged } = operation
  if (!METHODS.includes(method)) reject(name, `the method ${method} is not supported; use ${METHODS.join(', ')}`)
  if (method === 'GET' && body) reject(`${name}: body`, 'a GET request has no body; use the query, or POST')
  if (RESERVED_NAMES.includes(name)) reject(name, 'the SDK uses this name; rename the operation')
  if (!/^[a-z]\w*$/.test(name)) reject(name, 'must be a name such as getPlant; rename the operation')
  if (!/^(\/([\w.~-]|\{\w+\})+)+$/.test(path)) {
    reject(
      name,
      `the path ${path} is not supported; use segments of letters, digits and ".", "_", "~", "-", and :parameters`,
    )
  }
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter)
  for (const parameter of inPath) {
    if (!parameters.path.some((field) => field.name === parameter)) {
      reject(`${name}: path.${parameter}`, 'has no schema; add it to pathParams')
    }
  }
  for (const [place, fields] of Object.entries(parameters)) {
    for (const field of fields)
      checkParameter(field, place as ParameterPlace, components, `${name}: ${place}.${field.name}`)
  }
  for (const field of parameters.path) {
    if (!inPath.includes(field.name))
      reject(`${name}: path.${field.name}`, `is not in the path ${path}; add it or remove it`)
  }
  for (const { status, schema } of responses) {
    if ((status === 204 || status === 205) && schema) {
      reject(`${name}: response ${status}`, 'cannot have content (RFC 9110); use c.noBody() or the status 200')
    }
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
  if (place !== 'header') return
  if (RESERVED_HEADERS.test(field.name.toLowerCase()))
    reject(label, 'the SDK or the runtime sends this header; remove it')
  if (!/^[a-z0-9-]+$/.test(field.name)) reject(label, 'must be in lower case, with letters, digits and "-"')
}
