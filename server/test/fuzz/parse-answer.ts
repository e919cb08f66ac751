/** An answer of the server. */
export interface RawAnswer {
  status: number
  /** Names in lower case. */
  headers: ReadonlyMap<string, string>
  body: string
}

const END_OF_HEAD = Buffer.from('\r\n\r\n')
const LINE_END = Buffer.from('\r\n')

/**
 * The first whole answer in the bytes of a connection and how many of them it takes; nothing where there is none yet.
 */
export function parseAnswer(
  bytes: Buffer,
  toHead: boolean,
  closed: boolean,
): { answer: RawAnswer; length: number } | undefined {
  const end = bytes.indexOf(END_OF_HEAD)
  if (end < 0) return undefined
  const [statusLine = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1])
  const headers = new Map(lines.map((line) => [line.split(':')[0]?.toLowerCase() ?? '', line.replace(/^[^:]*: */, '')]))
  const start = end + END_OF_HEAD.length
  if (status < 200) {
    const next = parseAnswer(bytes.subarray(start), toHead, closed)
    return next && { answer: next.answer, length: start + next.length }
  }
  const content = toHead || status === 204 ? NOTHING : parseContent(bytes.subarray(start), headers, closed)
  if (!content) return undefined
  return { answer: { status, headers, body: content.bytes.toString() }, length: start + content.length }
}

interface Content {
  bytes: Buffer
  /** How many bytes it takes on the wire. */
  length: number
}

const NOTHING: Content = { bytes: Buffer.alloc(0), length: 0 }

function parseContent(bytes: Buffer, headers: ReadonlyMap<string, string>, closed: boolean): Content | undefined {
  const length = headers.get('content-length')
  if (length !== undefined) {
    return bytes.length < Number(length)
      ? undefined
      : { bytes: bytes.subarray(0, Number(length)), length: Number(length) }
  }
  if (headers.get('transfer-encoding') === 'chunked') return parseChunks(bytes)
  return closed ? { bytes, length: bytes.length } : undefined
}

function parseChunks(bytes: Buffer): Content | undefined {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf(LINE_END, at)
    if (lineEnd < 0) return undefined
    const size = Number.parseInt(bytes.subarray(at, lineEnd).toString('latin1'), 16)
    const start = lineEnd + LINE_END.length
    at = start + size + LINE_END.length
    if (bytes.length < at) return undefined
    if (size === 0) return { bytes: Buffer.concat(chunks), length: at }
    chunks.push(bytes.subarray(start, start + size))
  }
}
