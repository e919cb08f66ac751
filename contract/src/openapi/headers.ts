/** A header of a response. */
export interface Header {
  readonly description: string
  readonly required?: true
  readonly schema: {
    readonly type: 'string' | 'integer'
    readonly minimum?: number
    readonly examples: readonly unknown[]
  }
}

const REQUEST_ID: Header = {
  description: 'Identifies this request in the server logs.',
  required: true,
  schema: { type: 'string', examples: ['0b7e5a2c-6d1f-4c39-9a48-53d2f0c1e7ab'] },
}

const LINK: Header = {
  description: 'The next page, `rel="next"` (RFC 8288), if there is one.',
  schema: { type: 'string', examples: ['<?limit=100&cursor=AAECAwQFBgc>; rel="next"'] },
}

const RETRY_AFTER: Header = {
  description: 'Seconds to wait before a retry.',
  required: true,
  schema: { type: 'integer', minimum: 0, examples: [1] },
}

const RATE_LIMIT = {
  'RateLimit-Policy': {
    description: 'If requests are limited: the limit and its window in seconds (draft-ietf-httpapi-ratelimit-headers).',
    schema: { type: 'string', examples: ['"rate-limit";q=100;w=60'] },
  },
  RateLimit: {
    description: 'If requests are limited: how many are left, and in how many seconds the window ends.',
    schema: { type: 'string', examples: ['"rate-limit";r=99;t=60'] },
  },
} satisfies Record<string, Header>

/** Requests with these errors are rejected before they are counted. */
const UNCOUNTED = [403, 408, 417, 431]

/** Lists the headers of a response that clients can use. */
export function responseHeaders(status: number, paged: boolean): Record<string, Header> {
  return {
    'X-Request-Id': REQUEST_ID,
    ...(status < 300 && paged && { Link: LINK }),
    ...(status === 401 && { 'WWW-Authenticate': challenge('with `error="invalid_token"` if a token was sent') }),
    ...(status === 403 && { 'WWW-Authenticate': challenge('with `error="insufficient_scope"` and the `scope`') }),
    ...((status === 429 || status === 503) && { 'Retry-After': RETRY_AFTER }),
    ...(!UNCOUNTED.includes(status) && RATE_LIMIT),
  }
}

function challenge(parameters: string): Header {
  return {
    description: `\`Bearer\`, ${parameters} (RFC 6750).`,
    required: true,
    schema: { type: 'string', examples: ['Bearer realm="plant-store"'] },
  }
}
