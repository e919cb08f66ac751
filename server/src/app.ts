import { contract } from '@plant-store/contract'
import { createExpressEndpoints, type TsRestRequest, type TsRestRequestHandler } from '@ts-rest/express'
import express, { type Express, type RequestHandler, type Response } from 'express'
import type { Logger } from 'pino'
import { authenticate } from './accounts/authentication.ts'
import { createDocsResources } from './docs/docs-resources.ts'
import { serveStaticResources } from './docs/static-resource.ts'
import { allowOrigins, rejectOtherMethods, rejectUnknownPaths } from './http/request/known-paths.ts'
import { readBody } from './http/request/read-body.ts'
import { receiveRequest } from './http/request/receive-request.ts'
import { errorHandler, toValidationFailure } from './http/response/failures.ts'
import { overrideJson } from './http/response/send-json.ts'
import { limitRate } from './limits/rate-limit.ts'
import { createPlantsRouter } from './plants/plants-router.ts'
import type { Service } from './service.ts'
import type { Settings } from './settings/settings.ts'

/**
 * Creates the Express app. Its order is that of the checks: path 404, method 405, token 401, scope 403, rate 429, size 413,
 * media type 415, body 400.
 */
export function createApp(service: Service, settings: Settings, logger: Logger): Express {
  const { database, plants, cursors, loadShedding, responseMemory } = service
  const app = express()
    .disable('x-powered-by')
    .disable('etag')
    .enable('strict routing')
    .enable('case sensitive routing')
    .set('trust proxy', settings.trustProxy ?? false)
  overrideJson(app)

  app.use(
    combine(
      receiveRequest,
      ...(settings.corsOrigins?.length ? [allowOrigins(settings.corsOrigins)] : []),
      loadShedding.shedByAddress,
    ),
  )

  const router = createPlantsRouter({ plants, cursors, responseMemory, publicUrl: settings.publicUrl })
  createExpressEndpoints(contract, router, app, {
    logInitialization: false,
    globalMiddleware: [
      inOrder(
        authenticate(service.findToken, settings.authFailureLimit),
        loadShedding.shedByAccount,
        ...(settings.rateLimit ? [limitRate(settings.rateLimit)] : []),
        readBody(settings.bodyLimit, service.bodyMemory),
      ),
    ],
    requestValidationErrorHandler: (error) => {
      throw toValidationFailure(error)
    },
  })

  const docsResources = settings.docs ? createDocsResources(settings.publicUrl) : []
  serveStaticResources(app, docsResources)
  rejectOtherMethods(app, [...Object.values(contract), ...docsResources])
  rejectUnknownPaths(app)
  app.use(errorHandler(logger, database.failure))
  return app
}

/** Makes one handler of several, since Express's router takes about as long for one as all of these. */
function combine(...handlers: RequestHandler[]): RequestHandler {
  return handlers.reduceRight((proceed, handler) => (request, response, next) => {
    handler(request, response, (error?: unknown) => {
      if (error === undefined) proceed(request, response, next)
      else next(error)
    })
  })
}

type Step = (request: TsRestRequest<typeof contract>, response: Response) => void | Promise<void>

/** Runs steps one after the other, as one middleware, and waits only for those that return a promise. */
function inOrder(...steps: Step[]): TsRestRequestHandler<typeof contract> {
  return steps.reduceRight<TsRestRequestHandler<typeof contract>>(
    (proceed, step) => (request, response, next) => {
      const waiting = step(request, response)
      return waiting ? waiting.then(() => proceed(request, response, next)) : proceed(request, response, next)
    },
    (_request, _response, next) => next(),
  )
}
