import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import express, { type Express } from 'express'
import { pino } from 'pino'
import { afterFile } from '../../../test/helpers/temporary.ts'
import { createErrorHandler } from '../../src/requests/errors.ts'
import { extendResponses } from '../../src/requests/responses.ts'

/** Serves an app with the responses and the errors of the service, until the end of the test file; returns its URL. */
export async function serveApp(register: (app: Express) => void): Promise<string> {
  const app = express()
  extendResponses(app)
  app.use((request, _response, next) => {
    request.requestId = 'a-1'
    next()
  })
  register(app)
  app.use(createErrorHandler(pino({ level: 'silent' })))
  const server = app.listen(0, '127.0.0.1')
  afterFile(() => server.close())
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
