import { once } from 'node:events'
import { connect } from 'node:net'
import { parseAnswer, type RawAnswer } from '../../fuzz/parse-answer.ts'

/** A keep-alive connection that sends whatever bytes it is told to. */
export interface Connection {
  /** Nothing more will come. */
  readonly closed: boolean
  write(bytes: Uint8Array): void
  /**
   * Waits for the next answer.
   *
   * @returns nothing where the server closed the connection before a whole one, `waiting` where nothing has come for
   * so long
   */
  read(options: { toHead: boolean; milliseconds: number }): Promise<RawAnswer | undefined | 'waiting'>
  /** Tells the server that nothing more will come. */
  end(): void
  destroy(): void
}

/** Connects to a server. */
export async function openConnection(url: string): Promise<Connection> {
  const { hostname, port } = new URL(url)
  let received: Buffer = Buffer.alloc(0)
  let closed = false
  let wake = () => {}
  const socket = connect({ host: hostname, port: Number(port), noDelay: true, allowHalfOpen: true })
  await once(socket, 'connect')
  const close = () => {
    closed = true
    wake()
  }
  socket
    .on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      wake()
    })
    .on('end', () => {
      close()
      socket.end()
    })
    .on('close', close)
    .on('error', close)

  return {
    get closed() {
      return closed
    },
    write: (bytes) => void socket.write(bytes),
    read: ({ toHead, milliseconds }) =>
      new Promise((resolve) => {
        const finish = (result: RawAnswer | undefined | 'waiting') => {
          clearTimeout(timer)
          wake = () => {}
          resolve(result)
        }
        const timer = setTimeout(finish, milliseconds, 'waiting')
        wake = () => {
          const parsed = parseAnswer(received, toHead, closed)
          if (parsed) received = received.subarray(parsed.length)
          if (parsed || closed) finish(parsed?.answer)
        }
        wake()
      }),
    end: () => void socket.end(),
    destroy: () => void socket.destroy(),
  }
}
