import type { ServerResponse } from 'node:http'
import type { Express } from 'express'

/** The media type of every answer with a body. */
export const JSON_CONTENT_TYPE = 'application/json; charset=utf-8'

/** Ends a response with JSON text in UTF-8. */
export function sendJson(response: ServerResponse, bytes: Buffer): void {
  response.setHeader('Content-Type', JSON_CONTENT_TYPE)
  // By hand, since Node.js does not count the body of an answer to HEAD.
  response.setHeader('Content-Length', bytes.length)
  response.end(bytes)
}

/**
 * Makes `response.json` of an app do just that. Express's own looks for a charset to add, a replacer, an ETag and a
 * fresh copy at the caller with every answer; this service has none of them.
 */
export function sendJsonPlainly(app: Express): void {
  app.response.json = function json(body) {
    sendJson(this, Buffer.from(JSON.stringify(body)))
    return this
  }
}
