/** An HTTP response, read from the bytes of a connection. */
export interface Answer {
  status: number
  headers: Map<string, string>
  /** Decoded from UTF-8 and from chunks. */
  body: string
  /** There is no body by the rules of HTTP, whatever the headers say. */
  bodyless: boolean
}

/** Reads all responses that came over a connection, one character a byte. What is left over is an error. */
export function readAnswers(text: string, toHead = false): Answer[] {
  const received: Answer[] = []
  for (let rest = text; rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n')
    const [statusLine = '', ...lines] = rest.slice(0, end).split('\r\n')
    const [, status] = /^HTTP\/1\.1 (\d{3}) [\w ]+$/.exec(statusLine) ?? []
    if (end < 0 || !status) throw new Error(`not a response: ${rest.slice(0, 200)}`)
    const headers = new Map(lines.map((line) => splitHeader(line)))
    const bodyless = toHead || Number(status) < 200 || status === '204'
    const { body, length } = bodyless ? { body: '', length: 0 } : readBody(rest.slice(end + 4), headers)
    received.push({ status: Number(status), headers, body: Buffer.from(body, 'latin1').toString(), bodyless })
    rest = rest.slice(end + 4 + length)
  }
  return received
}

function splitHeader(line: string): [string, string] {
  const colon = line.indexOf(': ')
  if (colon < 0) throw new Error(`not a header: ${line}`)
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)]
}

function readBody(text: string, headers: Map<string, string>): { body: string; length: number } {
  const length = headers.get('content-length')
  if (length === undefined) return readChunks(text)
  const body = text.slice(0, Number(length))
  if (body.length < Number(length)) throw new Error('a response is cut off')
  return { body, length: body.length }
}

function readChunks(text: string): { body: string; length: number } {
  let body = ''
  for (let at = 0; ; ) {
    const [line = '', size] = /^([\da-f]+)\r\n/.exec(text.slice(at, at + 20)) ?? []
    if (size === undefined) throw new Error('a chunked response is cut off')
    at += line.length
    const bytes = Number.parseInt(size, 16)
    body += text.slice(at, at + bytes)
    at += bytes + 2
    if (bytes === 0) return { body, length: at }
  }
}
