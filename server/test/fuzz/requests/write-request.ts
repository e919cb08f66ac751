/** A request before it is bytes. */
export interface RawRequest {
  method: string
  target: string
  version: string
  headers: [name: string, value: string][]
  body: Uint8Array
}

/** What a request to the plants begins with. */
export function plantsRequest(token: string, rest: Partial<RawRequest> = {}): RawRequest {
  return {
    method: 'GET',
    target: '/plants',
    version: 'HTTP/1.1',
    headers: [
      ['Host', 'plants.test'],
      ['Authorization', `Bearer ${token}`],
    ],
    body: Buffer.alloc(0),
    ...rest,
  }
}

/** A request to create a plant from a body, its length declared. */
export function createRequest(token: string, body: Uint8Array): RawRequest {
  const request = plantsRequest(token, { method: 'POST', body })
  request.headers.push(['Content-Type', 'application/json'], ['Content-Length', String(body.length)])
  return request
}

/** The same request with its body in chunks of so many bytes. */
export function inChunks(request: RawRequest, size: number): RawRequest {
  const pieces: Uint8Array[] = []
  for (let at = 0; at < request.body.length; at += size) {
    const chunk = request.body.subarray(at, at + size)
    pieces.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'))
  }
  const headers = request.headers.filter(([name]) => name !== 'Content-Length')
  const body = Buffer.concat([...pieces, Buffer.from('0\r\n\r\n')])
  return { ...request, headers: [...headers, ['Transfer-Encoding', 'chunked']], body }
}

/** The request line and the headers in bytes. */
export function writeHead({ method, target, version, headers }: RawRequest): Buffer {
  const lines = [`${method} ${target} ${version}`, ...headers.map(([name, value]) => `${name}: ${value}`)]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
}

/** A request in bytes. */
export function writeRequest(request: RawRequest): Buffer {
  return Buffer.concat([writeHead(request), request.body])
}
