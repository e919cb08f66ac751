import { createHash } from 'node:crypto'
import type { Express } from 'express'

/** A resource that is the same for every client and needs no token. */
export interface StaticResource {
  method: 'GET'
  path: string
  /** Reads the content, at the first request: most servers never get one. */
  read(): Promise<Buffer>
  contentType: string
  /** Default: that of every response, which allows nothing. */
  contentSecurityPolicy?: string
}

interface Content {
  bytes: Buffer
  etag: string
}

/** Serves resources from memory. Clients cache and revalidate them, so that they see a new version immediately. */
export function serveStaticResources(app: Express, resources: readonly StaticResource[]): void {
  for (const { path, read, contentType, contentSecurityPolicy } of resources) {
    const load = cacheContent(read)
    app.get(path, async (request, response) => {
      const { bytes, etag } = await load()
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

/** Keeps the content from its first use on. A file that cannot be read is tried again. */
function cacheContent(read: () => Promise<Buffer>): () => Promise<Content> {
  let content: Promise<Content> | undefined
  return () => {
    content ??= read().then(
      (bytes) => ({ bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url')}"` }),
      (error) => {
        content = undefined
        throw error
      },
    )
    return content
  }
}
