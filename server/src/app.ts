/** The way of a request: from its arrival through what every request meets to the operations. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { contract } from '@plant-store/contract'
import express, { type RequestHandler } from 'express'
import type { Logger } from 'pino'
import type { Connections } from './connections/connections.ts'
import { createDocs } from './docs/serve-docs.ts'
import type { RequestContext } from './requests/context.ts'
import { closing, createErrorHandler, overloaded, sendError } from './requests/errors.ts'
import { createHeadCheck, readQuery } from './requests/head.ts'
import { createCors } from './requests/origins.ts'
import { addOperations, type Dependencies } from './requests/router.ts'
import type { Settings } from './settings.ts'
import { events, reportEnd } from './telemetry/events.ts'

/** Printable ASCII, as proxies write it. A token that is sent as an id, or within one, must not appear in the log. */
const VALID_ID = /^(?!.*pst_)[!-~]{1,128}$/
const NO_PATH = 'The request target is invalid. Use a path, or an http or https URL.'

/** Creates the listener of the requests of a port: each gets a context, and is handed to the app. */
export function createListener(
  app: express.Express,
  connections: Connections,
): (request: IncomingMessage, response: ServerResponse) => void {
  return (message, reply) => {
    const [request, response] = [message as express.Request, reply as express.Response]
    if (!connections.admit(request, response)) return
    request.context = createContext(request)
    if (events.listenerCount('requestEnded') > 0) reportEnd(request, response)
    // Express calls nothing for a target without a path, such as `http://`.
    app(request, response, () => sendError(response, closing('badRequest', NO_PATH)))
  }
}

/** Creates the context of a request that has arrived: later steps set the rest of it. */
export function createContext({ headers }: Pick<IncomingMessage, 'headers'>): RequestContext {
  const id = headers['x-request-id']
  const requestId = typeof id === 'string' && VALID_ID.test(id) ? id : randomUUID()
  return { requestId } as RequestContext
}

/**
 * Creates the Express app: first what every request meets, then the operations. Its order is that of the checks
 * (docs/architecture.md).
 */
export function createApp(dependencies: Dependencies, settings: Settings, logger: Logger): express.Express {
  const { requestsInFlight } = dependencies
  const app = express()
    .disable('x-powered-by')
    .enable('strict routing')
    .set('trust proxy', settings.trustProxy ?? false)
    .set('query parser', readQuery)

  const docs = settings.docs ? createDocs(settings.publicUrl) : {}
  const docEndpoints = Object.keys(docs).map((path) => ({ method: 'GET', path }))
  const checkHead = createHeadCheck([...Object.values(contract), ...docEndpoints])
  const check: RequestHandler = (request, response, next) => {
    const inFlight = requestsInFlight.add(request, response)
    if (!inFlight) throw overloaded()
    request.context.inFlight = inFlight
    checkHead(request, response, next)
  }
  // One handler instead of one for each check, since Express's router takes about as long for one as all of these.
  const cors = settings.corsOrigins?.length ? createCors(settings.corsOrigins) : undefined
  if (cors) app.use((request, response, next) => cors(request, response, () => check(request, response, next)))
  else app.use(check)
  addOperations(app, dependencies, settings)
  for (const [path, handle] of Object.entries(docs)) app.get(path, handle)
  app.use(createErrorHandler(logger))
  return app
}
