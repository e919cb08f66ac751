import type { NextFunction, Request, Response } from 'express'
import type { Logger } from 'pino'
import { answerFailure } from './answer-failure.ts'
import { Failure } from './failure.ts'

/**
 * Answers every failure as an `Error` body. What is not a {@link Failure} is the server's own fault: 500, and logged.
 */
export function errorHandler(logger: Logger, toFailure: (error: unknown) => Failure | undefined) {
  // Express tells an error handler by its four parameters.
  return (error: unknown, request: Request, response: Response, _next: NextFunction): void => {
    const failure = asFailure(error, toFailure)
    if (failure.status >= 500) {
      const level = failure.reason === 'unavailable' ? 'warn' : 'error'
      logger[level]({ requestId: request.requestId, err: failure.cause ?? failure }, failure.message)
    }
    if (response.headersSent) {
      response.destroy()
      return
    }
    answerFailure(response, failure)
  }
}

function asFailure(error: unknown, toFailure: (error: unknown) => Failure | undefined): Failure {
  if (error instanceof Failure) return error
  return toFailure(error) ?? new Failure('internal', undefined, { cause: error })
}
