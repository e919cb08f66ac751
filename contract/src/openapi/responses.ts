import { type AppRoute, ContractNoBody } from '@ts-rest/core'
import type { ZodOpenApiResponseObject } from 'zod-openapi'
import { errorCatalogue } from '../errors.ts'
import { requireBody } from './schemas.ts'

/** Responses with these statuses never have a body (RFC 9110 sections 15.3.5, 15.3.6 and 15.4.5). */
const STATUSES_WITHOUT_BODY = [204, 205, 304]

/** Describes the responses of an operation. */
export function describeResponses(name: string, { responses }: AppRoute, paged: boolean) {
  return Object.fromEntries(
    Object.entries(responses).map(([text, body]) => {
      const status = Number(text)
      return [text, describeResponse(status, body, { place: `${name}: response ${text}`, paged })]
    }),
  )
}

function describeResponse(
  status: number,
  body: unknown,
  { place, paged }: { place: string; paged: boolean },
): ZodOpenApiResponseObject {
  const empty = body === ContractNoBody
  if (!empty && STATUSES_WITHOUT_BODY.includes(status)) throw new Error(`${place}: has no body; use c.noBody()`)
  return {
    description: describeStatus(status),
    headers: responseHeaders(status, paged),
    ...(!empty && { content: { 'application/json': { schema: requireBody(body, place, 'output') } } }),
  } as ZodOpenApiResponseObject
}

function responseHeaders(status: number, paged: boolean) {
  return {
    'X-Request-Id': header('Identifies this request in the server logs.'),
    ...(status < 300 && paged && { Link: header('The next page, `rel="next"` (RFC 8288), if there is one.') }),
    ...(status === 401 && {
      'WWW-Authenticate': header('`Bearer`, with `error="invalid_token"` if a token was sent (RFC 6750).'),
    }),
    ...(status === 403 && { 'WWW-Authenticate': header('`Bearer` with `error="insufficient_scope"` (RFC 6750).') }),
    ...((status === 429 || status === 503) && { 'Retry-After': header('Seconds to wait before a retry.') }),
  }
}

function header(description: string) {
  return { description, schema: { type: 'string' as const } }
}

function describeStatus(status: number): string {
  if (status < 300) return 'Success.'
  if (status < 400) return 'Redirect.'
  const reasons = Object.values(errorCatalogue).filter(({ code }) => Math.floor(code / 100) === status)
  return reasons.map(({ code, reason }) => `${code}: ${reason}`).join('\n\n') || 'Error.'
}
