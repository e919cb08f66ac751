import { contract } from '@plant-store/contract'
import { createExpressEndpoints } from '@ts-rest/express'
import express from 'express'
import type { Logger } from 'pino'
import { createAuthentication, type FindToken, type Identity } from './accounts/authentication.ts'
import { createDocs } from './docs/serve-docs.ts'
import { readBody } from './requests/body.ts'
import { createErrorHandler, toValidationError } from './requests/errors.ts'
import { checkHead } from './requests/malformed-requests.ts'
import { byPath, createCors, createOriginHint, createPathCheck, readQuery } from './requests/paths-and-origins.ts'
import { createRateLimit } from './requests/rate-limit.ts'
import type { RequestInFlight, RequestsInFlight } from './requests/requests-in-flight.ts'
import { extendResponses } from './requests/responses.ts'
import { createRouter, type Handlers } from './requests/router.ts'
import type { Settings } from './settings.ts'

declare global {
  namespace Express {
    /** What the checks know of a request. */
    interface Request {
      /** What the requests in flight know of it. */
      inFlight: RequestInFlight
      /** Names it in the log; it is also the header `X-Request-Id` of the response. */
      requestId: string
      /** The known path that it matches, of the contract or the docs, such as `/plants`; undefined: none. */
      pathPattern?: string
      /** Who sends it: set before an operation is called. */
      identity: Identity
    }
  }
}

/** What the app works with. */
export interface Dependencies {
  /** What each operation of the contract does. */
  handlers: Handlers
  /** Looks up a token that is not cached. */
  findToken: FindToken
  requestsInFlight: RequestsInFlight
}

/**
 * Creates the Express app. Its order is that of the checks (docs/architecture.md).
 */
export function createApp(dependencies: Dependencies, settings: Settings, logger: Logger): express.Express {
  const { handlers, requestsInFlight } = dependencies
  const app = express()
    .disable('x-powered-by')
    .disable('etag')
    .enable('strict routing')
    .set('trust proxy', settings.trustProxy ?? false)
    .set('query parser', readQuery)
  extendResponses(app)

  const docs = settings.docs ? createDocs(settings.publicUrl) : []
  const checkPath = createPathCheck([...Object.values(contract), ...docs])
  const cors = settings.corsOrigins?.length ? createCors(settings.corsOrigins) : undefined
  const hint = createOriginHint(settings, logger)
  // One handler instead of one for each check, since Express's router takes about as long for one as all of these.
  app.use((request, response, next) => {
    const admitted = () => {
      checkHead(request)
      requestsInFlight.countForAddress(request)
      checkPath(request, response, next)
    }
    requestsInFlight.add(request, response)
    if (request.headers.origin !== undefined) hint(request)
    if (cors) cors(request, response, admitted)
    else admitted()
  })

  const authenticate = createAuthentication(dependencies.findToken)
  const countRequest = settings.rateLimit && createRateLimit(settings.rateLimit)
  const router = createRouter(handlers, settings.publicUrl)
  const inOrder = Object.entries(contract).toSorted(([, one], [, other]) => byPath(one, other))
  createExpressEndpoints(Object.fromEntries(inOrder) as typeof contract, router, app, {
    logInitialization: false,
    globalMiddleware: [
      async (request, response, next) => {
        await authenticate(request)
        requestsInFlight.countForAccount(request)
        countRequest?.(request.identity.tokenId, response)
        await readBody(request, response)
        next()
        // ts-rest has validated the body within `next`, and the handler has the result: fields that
        // the schema ignores need not stay in memory until the response.
        request.body = undefined as never
      },
    ],
    requestValidationErrorHandler: (error, request) => {
      throw toValidationError(error, request)
    },
  })

  for (const { path, handle } of docs) app.get(path, handle)
  app.use(createErrorHandler(logger))
  return app
}
