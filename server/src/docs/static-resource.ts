import { createHash } from 'node:crypto'
import type { Express } from 'express'

/** A resource that is the same for every client and needs no token. */
export interface StaticResource {
  method: 'GET'
  path: string
  bytes: Buffer
  contentType: string
  /** Default: that of every response, which allows nothing. */
  contentSecurityPolicy?: string
}

/** Serves resources from memory. Clients cache and revalidate them, so that they see a new version immediately. */
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
