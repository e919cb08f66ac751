import { IncomingMessage, type ServerOptions, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Express } from 'express'
import { COMMON_HEADERS } from '../response/send-json.ts'

const COMMON = COMMON_HEADERS.flat()

/**
 * Creates the classes of requests and responses, which do once what would otherwise be done for every request:
 *
 * - They have Express's methods. Express would replace the prototypes of every request and response, and V8 stops
 *   optimizing objects whose prototype changes (https://github.com/expressjs/express/issues/5998).
 * - Common headers are written with the others: calling `setHeader` for each takes longer than the rest of the head.
 * - The end of a response is seen without a listener: the first listeners of a response make its table of events grow.
 *
 * @param onEnd called with the connection once the whole response is handed over to it
 */
export function createMessageClasses(
  app: Express,
  onEnd: (socket: Socket) => void,
): Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'> {
  class Request extends IncomingMessage {
    requestId = ''
  }

  class Response<Message extends IncomingMessage> extends ServerResponse<Message> {
    /** Takes headers as a list of names and values only, which Node.js does not copy. */
    override writeHead(status: number, headers: unknown = []): this {
      if (!Array.isArray(headers))
        throw new TypeError('writeHead takes a list of names and values: use setHeader instead')
      const names = this.getHeaderNames()
      const common = names.length === 0 ? COMMON : COMMON_HEADERS.filter(([name]) => !this.hasHeader(name)).flat()
      const { requestId } = this.req as IncomingMessage as Request
      return super.writeHead(status, [...common, 'X-Request-Id', requestId, ...headers])
    }

    override end(chunk?: unknown, encoding?: unknown, callback?: unknown): this {
      super.end(chunk, encoding as BufferEncoding, callback as () => void)
      if (this.socket) onEnd(this.socket)
      return this
    }
  }

  Object.setPrototypeOf(Request.prototype, app.request)
  Object.setPrototypeOf(Response.prototype, app.response)
  app.request = Request.prototype as typeof app.request
  app.response = Response.prototype as typeof app.response
  return { IncomingMessage: Request, ServerResponse: Response }
}
