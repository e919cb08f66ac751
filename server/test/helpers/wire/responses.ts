/** An HTTP response, read from the bytes of a connection. */
export interface WireResponse {
  status: number
  /** Names in lower case. */
  headers: ReadonlyMap<string, string>
  /** Decoded from UTF-8 and from chunks. */
  body: string
  /** Whether HTTP allows this response no body. */
  bodyless: boolean
}

/** What else is known about a response. */
export interface ReadOptions {
  /** Whether the request was HEAD. */
  toHead?: boolean
  /** Whether the connection is closed, which ends a body without a length. */
  closed?: boolean
}

const END_OF_HEAD = Buffer.from('\r\n\r\n')
const END_OF_LINE = Buffer.from('\r\n')

/**
 * Reads the first whole response in the bytes of a connection, with the number of bytes it takes; undefined while
 * some of it is missing.
 *
 * @throws Error if the bytes are not a response.
 */
export function readResponse(
  bytes: Buffer,
  { toHead = false, closed = false }: ReadOptions = {},
): { response: WireResponse; length: number } | undefined {
  const end = bytes.indexOf(END_OF_HEAD)
  if (end < 0) return undefined
  const [statusLine = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n')
  const [, status] = /^HTTP\/1\.1 (\d{3}) [\w ]+$/.exec(statusLine) ?? []
  if (!status) throw new Error(`not a response: ${statusLine.slice(0, 200)}`)
  const headers = new Map(lines.map(splitHeader))
  const bodyless = toHead || Number(status) < 200 || status === '204'
  const start = end + END_OF_HEAD.length
  const [body, length = 0] = bodyless ? [Buffer.alloc(0), 0] : (readBody(bytes.subarray(start), headers, closed) ?? [])
  if (!body) return undefined
  return { response: { status: Number(status), headers, body: body.toString(), bodyless }, length: start + length }
}

/**
 * Reads all responses that came over a connection.
 *
 * @throws Error if anything is left over.
 */
export function readResponses(text: string, toHead = false): WireResponse[] {
  const responses: WireResponse[] = []
  for (let rest = Buffer.from(text, 'latin1'); rest.length > 0; ) {
    const read = readResponse(rest, { toHead })
    if (!read) throw new Error(`not a whole response: ${rest.toString('latin1', 0, 200)}`)
    responses.push(read.response)
    rest = rest.subarray(read.length)
  }
  return responses
}

function splitHeader(line: string): [string, string] {
  const colon = line.indexOf(': ')
  if (colon < 0) throw new Error(`not a header: ${line}`)
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)]
}

/** A body, and how many bytes it takes on the wire. */
type Body = readonly [body: Buffer, length: number]

/** Reads a body; undefined while some of it is missing. */
function readBody(bytes: Buffer, headers: ReadonlyMap<string, string>, closed: boolean): Body | undefined {
  if (headers.get('transfer-encoding') === 'chunked') return readChunks(bytes)
  const length = Number(headers.get('content-length') ?? (closed ? bytes.length : Number.POSITIVE_INFINITY))
  return bytes.length < length ? undefined : [bytes.subarray(0, length), length]
}

function readChunks(bytes: Buffer): Body | undefined {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const endOfLine = bytes.indexOf(END_OF_LINE, at)
    if (endOfLine < 0) return undefined
    const size = bytes.toString('latin1', at, endOfLine)
    if (!/^[\da-f]+$/.test(size)) throw new Error(`not the size of a chunk: ${size.slice(0, 20)}`)
    const start = endOfLine + END_OF_LINE.length
    const end = start + Number.parseInt(size, 16)
    at = end + END_OF_LINE.length
    if (bytes.length < at) return undefined
    if (end === start) return [Buffer.concat(chunks), at]
    chunks.push(bytes.subarray(start, end))
  }
}
