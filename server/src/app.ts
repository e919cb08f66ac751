import { contract } from '@plant-store/contract'
import { createExpressEndpoints } from '@ts-rest/express'
import express from 'express'
import type { Logger } from 'pino'
import { createAuthentication, type FindToken } from './accounts/authentication.ts'
import type { RequestsInFlight } from './connections/places.ts'
import { createDocs } from './docs/serve-docs.ts'
import { readBody } from './requests/body.ts'
import { createErrorHandler, overloaded, toValidationError } from './requests/errors.ts'
import { byPath, createHeadCheck, readQuery } from './requests/head.ts'
import { createCors } from './requests/origins.ts'
import { createRateLimit } from './requests/rate-limit.ts'
import { createRouter, type Handlers } from './requests/router.ts'
import type { Settings } from './settings.ts'

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

  const docs = settings.docs ? createDocs(settings.publicUrl) : []
  const checkHead = createHeadCheck([...Object.values(contract), ...docs])
  const cors = settings.corsOrigins?.length ? createCors(settings.corsOrigins) : undefined
  // One handler instead of one for each check, since Express's router takes about as long for one as all of these.
  app.use((request, response, next) => {
    const check = () => {
      const inFlight = requestsInFlight.add(request, response)
      if (!inFlight) throw overloaded()
      request.context.inFlight = inFlight
      checkHead(request, response, next)
    }
    if (cors) cors(request, response, check)
    else check()
  })

  const authenticate = createAuthentication(dependencies.findToken)
  const countRequest = settings.rateLimit && createRateLimit(settings.rateLimit)
  const router = createRouter(handlers, settings.publicUrl)
  const inOrder = Object.entries(contract).toSorted(([, one], [, other]) => byPath(one, other))
  createExpressEndpoints(Object.fromEntries(inOrder) as typeof contract, router, app, {
    logInitialization: false,
    globalMiddleware: [
      async (request, response, next) => {
        const identity = await authenticate(request)
        request.context.identity = identity
        if (!requestsInFlight.countForAccount(request.context.inFlight, identity.account)) throw overloaded()
        countRequest?.(identity.tokenId, response)
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
