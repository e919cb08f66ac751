import { connect } from 'node:net'
import { recordStatus } from '../../../test/helpers/server/record-statuses.ts'

/** What a server answered, and whether it then closed the connection itself. */
export interface RawAnswer {
  text: string
  closed: boolean
}

/** Sends bytes to a server as they are and gives everything that it answers until it closes, or is quiet for long. */
export function exchangeRaw(url: string, bytes: string | Buffer, { quiet = 1_000 } = {}): Promise<RawAnswer> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    const end = (closed: boolean) => {
      const text = Buffer.concat(chunks).toString('latin1')
      recordRaw(bytes, text)
      resolve({ text, closed })
      socket.destroy()
    }
    socket.setTimeout(quiet, () => end(false))
    socket
      .on('data', (chunk) => chunks.push(chunk))
      .on('close', () => end(true))
      .on('error', reject)
  })
}

/** As {@link exchangeRaw}, the answer alone. */
export async function sendRaw(url: string, bytes: string | Buffer, options?: { quiet?: number }): Promise<string> {
  return (await exchangeRaw(url, bytes, options)).text
}

/** The status of the first response in what a server answered. */
export function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1])
}

/** The body of the only response in what a server answered, which must be an `Error`. */
export function errorOf(answer: string): { error: number; message: string } {
  return JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))
}

/** The server answers what it cannot parse without a response object, so only the caller knows of it. */
function recordRaw(bytes: string | Buffer, answer: string): void {
  const [, method, target] = /^(\S+) (\S+) HTTP\//.exec(bytes.toString('latin1')) ?? []
  const [, status] = /^(?:HTTP\/1\.1 100 Continue\r\n\r\n)?HTTP\/1\.1 ([2-5]\d{2})/.exec(answer) ?? []
  if (method && target && status) recordStatus(method, target, Number(status))
}
