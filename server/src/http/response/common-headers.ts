import type { ServerResponse } from 'node:http'

/** What every answer carries beside its own headers: it is for nobody else to keep, and nothing that a browser runs. */
export const COMMON_HEADERS = Object.entries({
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
})

/** Gives an answer the id of its request and the headers that every answer carries. */
export function setCommonHeaders(response: ServerResponse, requestId: string): void {
  response.setHeader('X-Request-Id', requestId)
  for (const [name, value] of COMMON_HEADERS) response.setHeader(name, value)
}
