/** Describes the responses of operations: their statuses, headers and content. */
import { type AppRoute, ContractNoBody } from '@ts-rest/core'
import { type ErrorName, ErrorSchema, errorCatalogue, statusOf } from '../errors.ts'
import { at, describe, type JsonSchema, type Place, reject, requirePresent, requireSchema } from './schema.ts'

/** A body, by its media type. */
export interface Content {
  readonly 'application/json': { readonly schema: JsonSchema; readonly examples?: Readonly<Record<string, object>> }
}

/** A response of an operation. */
interface Response {
  readonly description: string
  readonly headers: Readonly<Record<string, ReturnType<typeof header>>>
  readonly content?: Content
}

/** The responses of an operation, by status. */
export type Responses = Readonly<Record<string, Response>>

/** Responses with these statuses never have a body (RFC 9110 sections 15.3.5 and 15.3.6). */
const STATUSES_WITHOUT_BODY = [204, 205]

/** Requests with these errors are rejected before they are counted. */
const UNCOUNTED = [403, 408, 417, 431]

/** Describes the responses that an operation declares. */
export function describeResponses(declared: AppRoute['responses'], paged: boolean, place: Place): Responses {
  const statuses = Object.keys(declared)
  const wrong = statuses.find((status) => !/^[245]\d\d$/.test(status))
  if (wrong) reject(at(place, `response ${wrong}`), 'the SDK follows no redirect; use a status of 2xx, 4xx and 5xx')
  if (!statuses.some((status) => status.startsWith('2'))) {
    reject(at(place, 'responses'), 'must have a success status (2xx); add one')
  }
  return Object.fromEntries(
    Object.entries(declared).map(([text, body]) => {
      const own = at(place, `response ${text}`)
      const status = Number(text)
      const content = status < 400 ? describeSuccess(status, body, own) : describeErrors(status, body, own)
      return [text, { ...content, headers: responseHeaders(status, paged) }]
    }),
  )
}

/** Describes a JSON body. */
export function describeBody(value: unknown, place: Place): Content {
  const schema = requireSchema(value, place)
  requirePresent(schema, place, 'make it required, or use c.noBody()')
  return { 'application/json': { schema: describe(schema, place) } }
}

function describeSuccess(status: number, body: unknown, place: Place): Omit<Response, 'headers'> {
  if (body === ContractNoBody) return { description: 'Success.' }
  if (STATUSES_WITHOUT_BODY.includes(status)) reject(place, 'has no body; use c.noBody()')
  return { description: 'Success.', content: describeBody(body, place) }
}

function describeErrors(status: number, body: unknown, place: Place): Omit<Response, 'headers'> {
  if (body !== ErrorSchema) {
    reject(place, 'an error must have the body ErrorSchema; add what the client needs to its message and code')
  }
  const errors = Object.entries(errorCatalogue).filter(([name]) => statusOf(name as ErrorName) === status)
  const examples = errors.map(([name, { code, reason }]) => {
    return [name, { summary: String(code), value: { error: code, message: reason } }]
  })
  const { schema } = describeBody(body, place)['application/json']
  return {
    description: errors.map(([, { code, reason }]) => `${code}: ${reason}`).join('\n\n') || 'Error.',
    content: {
      'application/json': { schema, ...(errors.length > 0 && { examples: Object.fromEntries(examples) }) },
    },
  }
}

/** Lists the headers of a response that clients can use. */
function responseHeaders(status: number, paged: boolean): Response['headers'] {
  const challenge = (parameters: string) => ({
    'WWW-Authenticate': header(`\`Bearer\`, ${parameters} (RFC 6750).`, 'Bearer realm="plant-store"', true),
  })
  const limit = 'If requests are limited: the limit and its window in seconds (draft-ietf-httpapi-ratelimit-headers).'
  const left = 'If requests are limited: how many are left, and in how many seconds the window ends.'
  return {
    'X-Request-Id': header('Identifies this request in the server logs.', '0b7e5a2c-6d1f-4c39-9a48-53d2f0c1e7ab', true),
    ...(status < 300 &&
      paged && {
        Link: header(
          'The next page, `rel="next"` (RFC 8288), if there is one.',
          '<?limit=100&cursor=AAECAwQFBgc>; rel="next"',
        ),
      }),
    ...(status === 401 && challenge('with `error="invalid_token"` if a token was sent')),
    ...(status === 403 && challenge('with `error="insufficient_scope"` and the `scope`')),
    ...((status === 429 || status === 503) && { 'Retry-After': header('Seconds to wait before a retry.', 1, true) }),
    ...(!UNCOUNTED.includes(status) && {
      'RateLimit-Policy': header(limit, '"rate-limit";q=100;w=60'),
      RateLimit: header(left, '"rate-limit";r=99;t=60'),
    }),
  }
}

function header(description: string, example: string | number, required = false) {
  const type = typeof example === 'number' ? ({ type: 'integer', minimum: 0 } as const) : ({ type: 'string' } as const)
  return { description, ...(required && { required }), schema: { ...type, examples: [example] } }
}
