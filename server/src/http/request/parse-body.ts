import { isUtf8 } from 'node:buffer'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { HttpError } from '../../http-error.ts'
import { createJsonReader, JsonSyntaxError } from './lossless-json.ts'

const BYTE_ORDER_MARK = 0xfeff
/** How many characters of waiting bodies are parsed in a turn of the event loop, which takes up to 3 ms. */
const CHARACTERS_PER_TURN = 32 * 1024

/** A body that waits for its turn. */
interface Waiting {
  account: string
  length: number
  /** Parses the next part, and returns whether it was the last one. */
  parsePart(): boolean
}

/**
 * Creates what parses bodies in parts, a few in a turn of the event loop: many that have arrived together would take
 * seconds. Accounts take turns. One body is parsed to its end before the next begins, since its values may take 30 times
 * as much memory as its text; but those that fit into one turn do not wait for longer ones.
 *
 * @returns a function that parses the body of an account's request
 */
export function createBodyParser() {
  const [addShort, addLong] = [createTurns(), createTurns()]
  return (account: string, bytes: Buffer, isConnected: () => boolean) =>
    new Promise<unknown>((resolve, reject) => {
      const read = createBodyReader(bytes)
      const parsePart = () => {
        try {
          if (!isConnected()) throw disconnected()
          const whole = read(CHARACTERS_PER_TURN)
          if (whole) resolve(whole.value)
          return whole !== undefined
        } catch (error) {
          reject(error)
          return true
        }
      }
      const add = bytes.length <= CHARACTERS_PER_TURN ? addShort : addLong
      add({ account, length: bytes.length, parsePart })
    })
}

/** Returns a function that adds a body to a queue of its own. */
function createTurns(): (body: Waiting) => void {
  /** The waiting bodies of each account, of which the first one is next. */
  const queues: Waiting[][] = []

  async function run(): Promise<void> {
    while (queues.length > 0) {
      await nextTurn()
      for (let left = CHARACTERS_PER_TURN; left > 0; ) {
        const [queue] = queues
        const [body] = queue ?? []
        if (!queue || !body) break
        left -= body.length
        if (!body.parsePart()) continue
        queue.shift()
        queues.shift()
        if (queue.length > 0) queues.push(queue)
      }
    }
  }

  return (body) => {
    const queue = queues.find(([first]) => first?.account === body.account)
    if (queue) queue.push(body)
    else if (queues.push([body]) === 1) void run()
  }
}

/**
 * Parses a short body immediately.
 *
 * @throws HttpError `malformedJson`
 */
export function parseBody(bytes: Buffer): unknown {
  return createBodyReader(bytes)()?.value
}

/** Creates a JSON reader of a body, which is decoded when its first part is read. Invalid JSON is an HttpError. */
function createBodyReader(bytes: Buffer): ReturnType<typeof createJsonReader> {
  let read: ReturnType<typeof createJsonReader> | undefined
  return (characters) => {
    try {
      read ??= createJsonReader(decode(bytes))
      return read(characters)
    } catch (error) {
      if (!(error instanceof JsonSyntaxError)) throw error
      throw new HttpError('malformedJson', `The body is not valid JSON: ${error.message}.`)
    }
  }
}

function decode(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new HttpError('malformedJson', 'The body is not valid UTF-8.')
  const text = bytes.toString('utf8')
  return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text
}

/** A client that disconnects is not a fault of the server. */
export function disconnected(): HttpError {
  return new HttpError('badRequest', 'The connection closed before the response.')
}
