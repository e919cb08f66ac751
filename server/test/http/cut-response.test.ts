/** What a client sees of a list of which a piece cannot be read. */
import type { AddressInfo } from 'node:net'
import { StorageError } from '@plant-store/prisma'
import express from 'express'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { errorHandler } from '../../src/http/response/error-responses.ts'
import { overrideJson, serializedJson } from '../../src/http/response/send-json.ts'

async function* failAfter(...pieces: string[]): AsyncGenerator<string, undefined> {
  yield* pieces
  throw new StorageError('The database is locked', { fault: 'locked', retryAfter: 1 })
}

/** Requests a list that fails after some pieces. */
async function requestList(...pieces: string[]): Promise<Response> {
  const app = express()
  overrideJson(app)
  app.get('/', (_request, response) => void response.json(serializedJson(failAfter(...pieces))))
  app.use(errorHandler(pino({ level: 'silent' })))
  const server = app.listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  return fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
}

test('a list whose first piece cannot be read is a 503', async () => {
  const response = await requestList()
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
  expect(await response.json()).toEqual({ error: 50300, message: 'The database is busy. Retry the request.' })
})

test('a list that fails midway, even at once, is a response that breaks off', async () => {
  for (const pieces of [['[1'], ['[1', ',2']]) {
    const response = await requestList(...pieces)
    expect(response.status).toBe(200)
    await expect(response.text()).rejects.toThrow('terminated')
  }
})
