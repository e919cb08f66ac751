import { createHash } from 'node:crypto'
import type { Express } from 'express'

/** Something that is answered to `GET` with the same bytes to everybody, without a token. */
export interface StaticResource {
  method: 'GET'
  path: string
  bytes: Buffer
  contentType: string
  /** Default: that of every answer, which lets nothing be loaded. */
  contentSecurityPolicy?: string
}

/**
 * Answers the resources from memory. Callers keep them and ask each time whether they are still the same, so that a new
 * version of the service is seen at once.
 */
export function serveStaticResources(app: Express, resources: readonly StaticResource[]): void {
  for (const { path, bytes, contentType, contentSecurityPolicy } of resources) {
    const etag = `"${createHash('sha256').update(bytes).digest('base64url')}"`
    app.get(path, (request, response) => {
      response.setHeader('Cache-Control', 'no-cache')
      response.setHeader('ETag', etag)
      if (contentSecurityPolicy !== undefined) response.setHeader('Content-Security-Policy', contentSecurityPolicy)
      if (request.fresh) {
        response.status(304).end()
        return
      }
      response.setHeader('Content-Type', contentType)
      response.setHeader('Content-Length', bytes.length)
      response.end(bytes)
    })
  }
}
