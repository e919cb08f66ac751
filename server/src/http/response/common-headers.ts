import type { ServerResponse } from 'node:http'

/** The headers of every response: it must not be cached, and holds nothing that a browser runs. */
export const COMMON_HEADERS = Object.entries({
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
})

/** Sets the headers of every response, and the id of the request. */
export function setCommonHeaders(response: ServerResponse, requestId: string): void {
  response.setHeader('X-Request-Id', requestId)
  for (const [name, value] of COMMON_HEADERS) response.setHeader(name, value)
}
