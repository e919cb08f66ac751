import type { Database } from '@plant-store/prisma'
import type { NextFunction, Request, Response } from 'express'
import type { Logger } from 'pino'
import { Failure } from '../../failure.ts'
import { sendFailure } from './send-failure.ts'

/** Responds to every failure with an `Error` body. What is not a {@link Failure} is a fault of the server: 500, logged. */
export function errorHandler(logger: Logger, databaseFailure: Database['failure']) {
  // Express recognizes an error handler by its four parameters.
  return (error: unknown, request: Request, response: Response, _next: NextFunction): void => {
    const failure = asFailure(error, databaseFailure)
    if (failure.status >= 500) {
      logger[levelOf(failure)]({ requestId: request.requestId, err: failure.cause ?? failure }, failure.message)
    }
    if (response.headersSent) {
      response.destroy(failure)
      return
    }
    sendFailure(response, failure)
  }
}

function levelOf({ reason, cause }: Failure): 'error' | 'warn' | 'debug' {
  if (reason !== 'unavailable') return 'error'
  // Shed requests are counted instead of logged one by one.
  return cause === undefined ? 'debug' : 'warn'
}

function asFailure(error: unknown, databaseFailure: Database['failure']): Failure {
  if (error instanceof Failure) return error
  // Express cannot decode a path parameter such as `%zz`.
  if (error instanceof URIError && 'status' in error) return new Failure('notFound')
  const temporary = databaseFailure(error)
  if (!temporary) return new Failure('internal', undefined, { cause: error })
  const headers = { 'Retry-After': String(temporary.retryAfter) }
  return new Failure('unavailable', temporary.message, { headers, cause: error })
}
