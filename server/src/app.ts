import { contract, type OperationMetadata } from '@plant-store/contract'
import { createExpressEndpoints, type TsRestRequestHandler } from '@ts-rest/express'
import express, { type Express } from 'express'
import type { Logger } from 'pino'
import type { Authenticate } from './accounts/authenticator.ts'
import { authenticateBearer } from './accounts/bearer-auth.ts'
import './http/express-request.ts'
import { errorHandler } from './http/error-handler.ts'
import { refuseOtherMethods, refuseUnknownPaths } from './http/known-paths.ts'
import { readJsonBody } from './http/read-json-body.ts'
import { receiveRequest } from './http/receive-request.ts'
import { sendJsonPlainly } from './http/send-json.ts'
import { toValidationFailure } from './http/validation-failure.ts'
import type { PlantStore } from './plants/plant-store.ts'
import { createPlantsRouter } from './plants/plants-router.ts'
import { toStorageFailure } from './storage/storage-failure.ts'

/** What the app works with. */
export interface AppDependencies {
  authenticate: Authenticate
  plants: PlantStore
  logger: Logger
  /** The largest request body, in bytes. */
  bodyLimit: number
  /** The base address that callers use, without a trailing slash. Default: as requested. */
  publicUrl: string | undefined
}

/**
 * Makes the Express app. It listens nowhere and reads no environment. The order of checks: path 404, method 405, token
 * 401, scope 403, size 413, media type 415, body 400.
 */
export function createApp({ authenticate, plants, logger, bodyLimit, publicUrl }: AppDependencies): Express {
  const app = express()
    .disable('x-powered-by')
    .disable('etag')
    .enable('strict routing')
    .enable('case sensitive routing')

  sendJsonPlainly(app)
  app.use(receiveRequest(logger))
  createExpressEndpoints(contract, createPlantsRouter(plants, publicUrl), app, {
    logInitialization: false,
    globalMiddleware: [admit(authenticate, bodyLimit)],
    requestValidationErrorHandler: (error) => {
      throw toValidationFailure(error)
    },
  })
  refuseOtherMethods(app, Object.values(contract))
  refuseUnknownPaths(app)
  app.use(errorHandler(logger, toStorageFailure))
  return app
}

type OperationMiddleware = TsRestRequestHandler<typeof contract>

/** Lets a request to its operation: who sends it, whether it may, and then its body. */
function admit(authenticate: Authenticate, bodyLimit: number): OperationMiddleware {
  return async (request, response, next) => {
    const operation = request.tsRestRoute
    const { scope } = operation.metadata satisfies OperationMetadata
    request.caller = await authenticateBearer(request.headers, scope, authenticate)
    if ('body' in operation) request.body = (await readJsonBody(request, response, bodyLimit)) as never
    next()
  }
}
