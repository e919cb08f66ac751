import { contract, type OperationMetadata } from '@plant-store/contract'
import type { Database } from '@plant-store/prisma'
import { createExpressEndpoints, type TsRestRequestHandler } from '@ts-rest/express'
import express, { type Express, type RequestHandler } from 'express'
import type { Logger } from 'pino'
import { authenticateBearer, isFailedAuthentication } from './accounts/authentication.ts'
import type { Authenticate } from './accounts/own-token.ts'
import { createDocsResources } from './docs/docs-resources.ts'
import { serveStaticResources } from './docs/static-resource.ts'
import './http/request/express-request.ts'
import { refuseOtherMethods, refuseUnknownPaths } from './http/request/known-paths.ts'
import { readJsonBody } from './http/request/read-body.ts'
import { receiveRequest } from './http/request/receive-request.ts'
import { toValidationFailure } from './http/request/validation-failure.ts'
import { allowOrigins } from './http/response/cross-origin.ts'
import { errorHandler } from './http/response/error-handler.ts'
import { sendJsonPlainly } from './http/response/send-json.ts'
import type { SlowReaders } from './http/response/slow-readers.ts'
import { addressKey } from './limits/address-key.ts'
import { createFairShare, SCARCE } from './limits/fair-share.ts'
import type { LoadShedding } from './limits/load-shedding.ts'
import { createRateLimit } from './limits/rate-limit.ts'
import { createResponseMemory } from './limits/response-memory.ts'
import type { Cursors } from './plants/cursor.ts'
import type { PlantStore } from './plants/plant-store.ts'
import { createPlantsRouter } from './plants/plants-router.ts'
import type { Settings } from './settings/settings.ts'

/** What the app works with. */
export interface AppDependencies {
  authenticate: Authenticate
  plants: PlantStore
  cursors: Cursors
  loadShedding: LoadShedding
  slowReaders: SlowReaders
  /** Recognizes an error of the database that may go away. */
  failure: Database['failure']
  logger: Logger
  /** Makes a trace of each request; undefined: none is made. */
  traceRequest: RequestHandler | undefined
}

/** The settings that the app itself needs. */
export type AppSettings = Pick<
  Settings,
  | 'bodyLimit'
  | 'maxBodyMemory'
  | 'maxResponseMemory'
  | 'publicUrl'
  | 'docs'
  | 'corsOrigins'
  | 'trustProxy'
  | 'rateLimit'
  | 'authFailureLimit'
>

/**
 * Makes the Express app. It listens nowhere and reads no environment. The order of checks: path 404, method 405, token
 * 401, scope 403, rate 429, size 413, media type 415, body 400.
 */
export function createApp(
  { authenticate, plants, cursors, loadShedding, slowReaders, failure, logger, traceRequest }: AppDependencies,
  settings: AppSettings,
): Express {
  const app = express()
    .disable('x-powered-by')
    .disable('etag')
    .enable('strict routing')
    .enable('case sensitive routing')
    .set('trust proxy', settings.trustProxy ?? false)

  sendJsonPlainly(app)
  app.use(receiveRequest(logger))
  if (traceRequest) app.use(traceRequest)
  if (settings.corsOrigins) app.use(allowOrigins(settings.corsOrigins))
  app.use(loadShedding.admit)
  const responseMemory = createResponseMemory(settings.maxResponseMemory)
  const router = createPlantsRouter({ plants, cursors, responseMemory, slowReaders, publicUrl: settings.publicUrl })
  createExpressEndpoints(contract, router, app, {
    logInitialization: false,
    globalMiddleware: [admit(authenticate, loadShedding, settings)],
    requestValidationErrorHandler: (error) => {
      throw toValidationFailure(error)
    },
  })
  const docsResources = settings.docs ? createDocsResources(settings.publicUrl) : []
  serveStaticResources(app, docsResources)
  refuseOtherMethods(app, [...Object.values(contract), ...docsResources])
  refuseUnknownPaths(app)
  app.use(errorHandler(logger, failure))
  return app
}

type OperationMiddleware = TsRestRequestHandler<typeof contract>

/** Lets a request to its operation: who sends it, whether it may, how often, and then its body. */
function admit(authenticate: Authenticate, loadShedding: LoadShedding, settings: AppSettings): OperationMiddleware {
  const bodyMemory = createFairShare(settings.maxBodyMemory, SCARCE)
  const countFailure = createRateLimit('auth-failures', settings.authFailureLimit)
  const countRequest = createRateLimit('rate-limit', settings.rateLimit)
  return async (request, response, next) => {
    const operation = request.tsRestRoute
    const { scope } = operation.metadata satisfies OperationMetadata
    try {
      request.caller = await authenticateBearer(request.headers, scope, authenticate)
    } catch (error) {
      if (isFailedAuthentication(error)) await countFailure(addressKey(request.ip ?? ''), response)
      throw error
    }
    const { account, rateLimitKey } = request.caller
    loadShedding.assign(response, account)
    await countRequest(rateLimitKey, response)
    if ('body' in operation) {
      const limits = { limit: settings.bodyLimit, memory: bodyMemory, client: account }
      request.body = (await readJsonBody(request, response, limits)) as never
    }
    next()
  }
}
