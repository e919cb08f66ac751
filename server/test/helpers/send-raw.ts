import { connect } from 'node:net'

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
