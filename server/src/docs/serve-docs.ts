import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Express } from 'express'
import type { Route } from '../http/request/known-paths.ts'
import { JSON_CONTENT_TYPE } from '../http/response/send-json.ts'
import { ownCommand } from '../installation.ts'

/** The page loads from and calls only this server, and runs no inline script. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// The build copies both next to the compiled file. The sources find Swagger UI in its package.
const PAGE_FOLDER = new URL('page/', import.meta.url)
const SWAGGER_UI_FOLDER = import.meta.url.endsWith('.ts')
  ? new URL('.', import.meta.resolve('swagger-ui-dist/package.json'))
  : new URL('swagger-ui/', import.meta.url)

/**
 * Serves the OpenAPI document, and the page that shows it and calls the service. They are the same for every client and need no
 * token, and are in memory from the first request on: most servers never get one. Clients cache and revalidate them, so that
 * they see a new version immediately.
 *
 * @returns the routes
 */
export function serveDocs(app: Express, publicUrl: string | undefined): Route[] {
  const routes: Route[] = []

  /** @param policy the Content-Security-Policy; default: that of every response, which allows nothing */
  function serve(path: string, contentType: string, read: () => Promise<Buffer>, policy?: string): void {
    let cached: { content: Buffer; etag: string } | undefined
    app.get(path, async (_request, response) => {
      cached ??= addEtag(await read())
      response.setHeader('Content-Type', contentType)
      response.setHeader('Cache-Control', 'no-cache')
      response.setHeader('ETag', cached.etag)
      if (policy !== undefined) response.setHeader('Content-Security-Policy', policy)
      // Express sends a 304 to a client that has this version.
      response.send(cached.content)
    })
    routes.push({ method: 'GET', path })
  }

  function serveFile(folder: URL, file: string, mediaType: string): void {
    serve(`/docs/${file}`, `${mediaType}; charset=utf-8`, () => readFile(new URL(file, folder)))
  }

  serve('/openapi.json', JSON_CONTENT_TYPE, () => createDocument(publicUrl))
  serve('/docs', 'text/html; charset=utf-8', createPage, PAGE_POLICY)
  serveFile(PAGE_FOLDER, 'page.css', 'text/css')
  serveFile(PAGE_FOLDER, 'page.js', 'text/javascript')
  serveFile(PAGE_FOLDER, 'color-scheme.js', 'text/javascript')
  serveFile(PAGE_FOLDER, 'icon.svg', 'image/svg+xml')
  serveFile(SWAGGER_UI_FOLDER, 'swagger-ui.css', 'text/css')
  serveFile(SWAGGER_UI_FOLDER, 'swagger-ui-bundle.js', 'text/javascript')
  return routes
}

/** Reads the page, and puts the command that works here into it. */
async function createPage(): Promise<Buffer> {
  const page = await readFile(new URL('index.html', PAGE_FOLDER), 'utf8')
  return Buffer.from(page.replace('<span>plant-store</span>', `<span>${ownCommand}</span>`))
}

async function createDocument(serverUrl: string | undefined): Promise<Buffer> {
  const { createOpenApiDocument } = await import('@plant-store/contract/openapi')
  return Buffer.from(JSON.stringify(createOpenApiDocument({ serverUrl })))
}

function addEtag(content: Buffer): { content: Buffer; etag: string } {
  return { content, etag: `"${createHash('sha256').update(content).digest('base64url')}"` }
}
