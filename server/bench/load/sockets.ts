/**
 * A load generator over raw sockets, in a process of its own. It writes prepared requests and reads just enough of the
 * responses to find their end, so that it is far cheaper than what it measures: with a client library, the client would
 * be the slower side.
 */
import { connect, type Socket } from 'node:net'
import type { Load, LoadResult } from './load.ts'

/** How many requests there are for each plant that is created. */
const REQUESTS_PER_PLANT = { list: Number.POSITIVE_INFINITY, create: 1, mixed: 10, alternating: 2 }

const HEADERS_END = Buffer.from('\r\n\r\n')
/** The end of a response in chunks. */
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n')

function measure({
  port,
  tokens,
  kind,
  paths = ['/plants'],
  connections,
  requests,
  firstId,
}: Load): Promise<LoadResult> {
  const heads = tokens.map((token) => `Host: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\n`)
  const lists = heads.flatMap((head) => paths.map((path) => Buffer.from(`GET ${path} HTTP/1.1\r\n${head}\r\n`)))
  const latencies = new Float64Array(requests)
  let sent = 0
  let done = 0
  let failures = 0

  function nextRequest(): Buffer {
    const number = sent++
    const list = lists[number % lists.length]
    if (list && (number + 1) % REQUESTS_PER_PLANT[kind] !== 0) return list
    const head = heads[number % heads.length]
    const body = `{"id":${firstId + number},"name":"Monstera deliciosa ${number}","tag":"aroid"}`
    return Buffer.from(
      `POST /plants HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
  }

  return new Promise((resolve, reject) => {
    const sockets: Socket[] = []
    const begin = performance.now()

    function finish(): void {
      const seconds = (performance.now() - begin) / 1000
      for (const socket of sockets) socket.destroy()
      latencies.sort()
      const at = (share: number) => latencies[Math.min(requests - 1, Math.floor(requests * share))] ?? 0
      resolve({ requests: requests - failures, seconds, failures, p50: at(0.5), p99: at(0.99) })
    }

    function drive(socket: Socket): void {
      let received = Buffer.alloc(0)
      let missing = 0
      let start = 0

      function send(): void {
        if (sent >= requests) return
        start = performance.now()
        socket.write(nextRequest())
      }

      function finishOne(): void {
        latencies[done++] = performance.now() - start
        if (done === requests) finish()
        else send()
      }

      /** Reads more of a body, and returns whether it has ended. */
      function readBody(part: Buffer): boolean {
        missing -= part.length
        if (Number.isFinite(missing)) return missing <= 0
        received = Buffer.concat([received, part.subarray(-LAST_CHUNK.length)]).subarray(-LAST_CHUNK.length)
        return received.equals(LAST_CHUNK)
      }

      socket.on('data', (chunk) => {
        let body = chunk
        if (missing === 0) {
          received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
          const end = received.indexOf(HEADERS_END)
          if (end < 0) return
          const headers = received.toString('latin1', 0, end)
          if (!headers.startsWith('HTTP/1.1 200')) failures++
          // Without a length it comes in chunks.
          missing = Number(/content-length: (\d+)/i.exec(headers)?.[1] ?? Number.POSITIVE_INFINITY)
          body = received.subarray(end + HEADERS_END.length)
          received = Buffer.alloc(0)
        }
        if (!readBody(body)) return
        missing = 0
        received = Buffer.alloc(0)
        finishOne()
      })
      socket.on('error', reject)
      send()
    }

    for (let index = 0; index < Math.min(connections, requests); index++) {
      const socket = connect(port, '127.0.0.1', () => drive(socket)).setNoDelay()
      sockets.push(socket)
    }
  })
}

const result = await measure(JSON.parse(process.argv[2] ?? '{}'))
console.log(JSON.stringify(result))
process.exit(0)
