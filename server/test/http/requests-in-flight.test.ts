import { EventEmitter } from 'node:events'
import type { Request, Response } from 'express'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createRequestsInFlight } from '../../src/http/requests-in-flight.ts'

test('a request that is removed twice does not take the place of another one, whose client reads nothing', () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { add, countForAddress, count } = createRequestsInFlight({ maxRequestsInFlight: 9, trustProxy: undefined })
  const requests = [0, 1, 2].map((number) => {
    const socket = { remoteAddress: `192.0.2.${number}`, destroy: vi.fn() }
    const request = { socket, complete: true } as unknown as Request
    const response = Object.assign(new EventEmitter(), { socket, closed: false, headersSent: true, writableLength: 9 })
    add(request, response as unknown as Response)
    countForAddress(request)
    return { response, destroy: socket.destroy }
  })
  const [first] = requests
  Object.assign(first?.response ?? {}, { closed: true, writableLength: 0 })
  vi.advanceTimersByTime(2_000)
  first?.response.emit('close')
  expect(count()).toBe(2)
  vi.advanceTimersByTime(60_000)
  expect(requests.map(({ destroy }) => destroy.mock.calls.length > 0)).toEqual([false, true, true])
})
