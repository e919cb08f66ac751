import type { ServerResponse } from 'node:http'
import { Failure } from '../../failure.ts'
import { CLIENT_CLOSED_REQUEST } from '../../telemetry/events.ts'

const replaced = new WeakMap<ServerResponse, number>()

/** Notes the status of another response that was sent instead of this one, which will never finish. */
export function replaceStatus(response: ServerResponse, status: number): void {
  replaced.set(response, status)
}

/** Returns the status of a response that has closed: 499 if the connection closed before the response was complete. */
export function finalStatus(response: ServerResponse): number {
  if (response.writableFinished) return response.statusCode
  const { errored } = response
  // The client has seen a status of success, and then that the connection broke.
  if (errored) return errored instanceof Failure ? errored.status : 500
  return replaced.get(response) ?? CLIENT_CLOSED_REQUEST
}
