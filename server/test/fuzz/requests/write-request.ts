/** The parts of a request. */
export interface RawRequest {
  method: string
  target: string
  version: string
  headers: [name: string, value: string][]
  body: Uint8Array
}

/** Makes a request to list plants. */
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

/** Makes a request that creates a plant from a body, with a Content-Length. */
export function createRequest(token: string, body: Uint8Array): RawRequest {
  const request = plantsRequest(token, { method: 'POST', body })
  request.headers.push(['Content-Type', 'application/json'], ['Content-Length', String(body.length)])
  return request
}

/** Makes the same request with its body in chunks of a size in bytes. */
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

/** Writes the request line and the headers. */
export function writeHead({ method, target, version, headers }: RawRequest): Buffer {
  const lines = [`${method} ${target} ${version}`, ...headers.map(([name, value]) => `${name}: ${value}`)]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
}

/** Writes a request. */
export function writeRequest(request: RawRequest): Buffer {
  return Buffer.concat([writeHead(request), request.body])
}
