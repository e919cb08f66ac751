import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Express } from 'express'
import { JSON_CONTENT_TYPE } from '../http/response/send-json.ts'
import { ownCommand } from '../installation.ts'

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

/** The page loads from and calls only this server, and runs no inline script. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// The build copies both next to the compiled file. The sources find Swagger UI in its package.
const PAGE_FOLDER = new URL('page/', import.meta.url)
const SWAGGER_UI_FOLDER = import.meta.url.endsWith('.ts')
  ? new URL('.', import.meta.resolve('swagger-ui-dist/package.json'))
  : new URL('swagger-ui/', import.meta.url)

/** Creates the OpenAPI document, and the page that shows it and calls the service. */
export function createDocsResources(publicUrl: string | undefined): StaticResource[] {
  return [
    { method: 'GET', path: '/openapi.json', read: () => createDocument(publicUrl), contentType: JSON_CONTENT_TYPE },
    {
      method: 'GET',
      path: '/docs',
      read: createPage,
      contentType: 'text/html; charset=utf-8',
      contentSecurityPolicy: PAGE_POLICY,
    },
    asset(PAGE_FOLDER, 'page.css', 'text/css'),
    asset(PAGE_FOLDER, 'page.js', 'text/javascript'),
    asset(PAGE_FOLDER, 'color-scheme.js', 'text/javascript'),
    asset(PAGE_FOLDER, 'icon.svg', 'image/svg+xml'),
    asset(SWAGGER_UI_FOLDER, 'swagger-ui.css', 'text/css'),
    asset(SWAGGER_UI_FOLDER, 'swagger-ui-bundle.js', 'text/javascript'),
  ]
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

function asset(folder: URL, file: string, mediaType: string): StaticResource {
  const read = () => readFile(new URL(file, folder))
  return { method: 'GET', path: `/docs/${file}`, read, contentType: `${mediaType}; charset=utf-8` }
}

/** Serves resources from memory. Clients cache and revalidate them, so that they see a new version immediately. */
export function serveStaticResources(app: Express, resources: readonly StaticResource[]): void {
  for (const { path, read, contentType, contentSecurityPolicy } of resources) {
    let cached: { content: Buffer; etag: string } | undefined
    app.get(path, async (_request, response) => {
      cached ??= addEtag(await read())
      response.setHeader('Content-Type', contentType)
      response.setHeader('Cache-Control', 'no-cache')
      response.setHeader('ETag', cached.etag)
      if (contentSecurityPolicy !== undefined) response.setHeader('Content-Security-Policy', contentSecurityPolicy)
      // Express sends a 304 to a client that has this version.
      response.send(cached.content)
    })
  }
}

function addEtag(content: Buffer): { content: Buffer; etag: string } {
  return { content, etag: `"${createHash('sha256').update(content).digest('base64url')}"` }
}
