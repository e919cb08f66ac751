/** What a client sees of a list whose second piece cannot be read. */
import type { AddressInfo } from 'node:net'
import express from 'express'
import { expect, onTestFinished, test } from 'vitest'
import { overrideJson, serializedJson } from '../../src/http/response/send-json.ts'

async function* failMidway(): AsyncGenerator<string> {
  yield '[1'
  throw new Error('The database is unavailable')
}

test('a list that fails midway, even at once, is a response that breaks off', async () => {
  const app = express()
  overrideJson(app)
  app.get('/', (_request, response) => void response.json(serializedJson(failMidway())))
  const server = app.listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  expect(response.status).toBe(200)
  await expect(response.text()).rejects.toThrow('terminated')
})
