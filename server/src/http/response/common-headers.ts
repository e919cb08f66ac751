/** The headers of every response: it must not be cached, and holds nothing that a browser runs. */
export const COMMON_HEADERS = Object.entries({
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
})
