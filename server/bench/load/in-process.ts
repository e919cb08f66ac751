/**
 * Loaded into a server that is measured: at SIGUSR2 it sends requests to it without a socket, and prints the CPU time that
 * each takes. A network and another process would add their own, which differs from one run to the next.
 */
import { type IncomingMessage, Server, type ServerResponse } from 'node:http'
import net from 'node:net'
import { Duplex } from 'node:stream'
import { isMainThread } from 'node:worker_threads'

/** How many requests a round has. */
const REQUESTS = 10_000
const CONNECTIONS = 64

const { LOAD_TOKEN: token, LOAD_KIND: kind } = process.env
const head = `Host: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n`
const list = Buffer.from(`GET /plants HTTP/1.1\r\n${head}\r\n`)

let server: Server | undefined
/** Ids that no request has used yet. */
let nextId = 1_000_000_000

/** A connection without a network. */
class Connection extends Duplex {
  readonly remoteAddress = '127.0.0.1'
  bytesWritten = 0

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.bytesWritten += chunk.length
    done()
  }

  override _writev(chunks: { chunk: Buffer }[], done: () => void): void {
    for (const { chunk } of chunks) this.bytesWritten += chunk.length
    done()
  }

  setTimeout(): this {
    return this
  }
}

function nextRequest(): Buffer {
  if (kind === 'list') return list
  const body = `{"id":${nextId},"name":"Monstera deliciosa ${nextId++}","tag":"aroid"}`
  return Buffer.from(
    `POST /plants HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
}

/** Sends the requests of a round, and returns the CPU time of each, of all threads, user and system, in microseconds. */
async function playRound(target: Server): Promise<number> {
  let sent = 0
  let done = 0
  const connections = Array.from({ length: CONNECTIONS }, () => new Connection())
  const send = (connection: Duplex) => {
    if (sent++ < REQUESTS) connection.push(nextRequest())
  }
  let listener = (_request: IncomingMessage, _response: ServerResponse): void => {}
  const before = process.cpuUsage()
  await new Promise<void>((resolve, reject) => {
    listener = ({ socket }: IncomingMessage, response: ServerResponse) =>
      response.once('finish', () => {
        if (response.statusCode !== 200) reject(new Error(`a response has the status ${response.statusCode}`))
        // After what Node.js does at the end of a response.
        else if (++done < REQUESTS) setImmediate(send, socket)
        else resolve()
      })
    target.prependListener('request', listener)
    for (const connection of connections) {
      target.emit('connection', connection)
      send(connection)
    }
  })
  const { user, system } = process.cpuUsage(before)
  target.off('request', listener)
  for (const connection of connections) connection.destroy()
  return (user + system) / REQUESTS
}

if (isMainThread) {
  const { listen } = net.Server.prototype
  net.Server.prototype.listen = function rememberAndListen(this: net.Server, ...parameters: unknown[]) {
    if (this instanceof Server) server = this
    return Reflect.apply(listen, this, parameters)
  }
  process.on('SIGUSR2', async () => {
    if (server) console.log(`reported: ${await playRound(server)}`)
  })
}
