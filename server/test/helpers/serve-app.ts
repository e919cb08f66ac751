import express, { type Express } from 'express'
import { pino } from 'pino'
import { afterFile } from '../../../test/helpers/temporary.ts'
import { readSettings } from '../../src/index.ts'
import { createErrorHandler } from '../../src/requests/errors.ts'
import { openPublicPort } from '../../src/requests/public-port.ts'

/** Serves an app as the public port does, with the errors of the service, until the end of the test file; returns its URL. */
export async function serveApp(register: (app: Express) => void): Promise<string> {
  const app = express()
  register(app)
  app.use(createErrorHandler(pino({ level: 'silent' })))
  const port = await openPublicPort(app, { ...readSettings({}), port: 0 })
  afterFile(() => port.close(0))
  return port.url
}
