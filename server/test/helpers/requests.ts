/**
 * Requests as the text that goes over the wire, one character a byte. `<token>` stands for a token with both scopes.
 */

/** How a request differs from one that creates a plant. */
export interface RequestParts {
  method?: string
  target?: string
  version?: string
  /** `null` leaves out a default header; a list repeats a header. */
  headers?: Record<string, string | null | readonly string[]>
  body?: string | Buffer
}

/** Keeps the connection open after the response. */
export const KEEP_ALIVE = { Connection: null }
/** Sends no token. */
export const NO_TOKEN = { Authorization: null }

/** Builds a request; by default its connection closes after the response. */
export function request({
  method = 'POST',
  target = '/plants',
  version = 'HTTP/1.1',
  headers = {},
  body,
}: RequestParts = {}): string {
  const bytes = Buffer.from(body ?? '')
  const complete = {
    Host: 'plants.example.com',
    Authorization: 'Bearer <token>',
    Connection: 'close',
    ...(body !== undefined && { 'Content-Type': 'application/json', 'Content-Length': String(bytes.length) }),
    ...headers,
  }
  const lines = Object.entries(complete).flatMap(([name, values]) =>
    (values === null ? [] : [values].flat()).map((value) => `${name}: ${value}\r\n`),
  )
  return `${method} ${target} ${version}\r\n${lines.join('')}\r\n${bytes.toString('latin1')}`
}

/** Builds a request that creates a plant from the text of a body. */
export function post(body: string | Buffer, headers: RequestParts['headers'] = {}): string {
  return request({ body, headers })
}

/** Builds the head of a request that creates a plant; its body is to follow, and its connection stays open. */
export function postHead(headers: RequestParts['headers'] = {}): string {
  return request({ headers: { ...KEEP_ALIVE, 'Content-Type': 'application/json', ...headers } })
}

/** Builds a request that lists plants. */
export function get(target = '/plants', headers: RequestParts['headers'] = {}): string {
  return request({ method: 'GET', target, headers })
}

/** Puts a token in the place of `<token>`. */
export function withToken(wire: string, token: string): string {
  return wire.replaceAll('<token>', token)
}

/** Builds a request on a connection that stays open, which creates a plant. */
export function createPlant(token: string, id: number, name = `plant ${id}`): string {
  return withToken(post(JSON.stringify({ id, name }), KEEP_ALIVE), token)
}

/** Builds a request on a connection that stays open, which lists plants. */
export function listPlants(token: string, query = ''): string {
  return withToken(get(`/plants${query}`, KEEP_ALIVE), token)
}
