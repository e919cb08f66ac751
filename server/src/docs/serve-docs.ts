import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { RequestHandler, Response } from 'express'
import { ownCommand } from '../installation.ts'

/** Of the page and its files: it loads from and calls only this server, and runs no inline script. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// The build copies both next to the compiled file. The sources find Swagger UI in its package.
const PAGE_FOLDER = new URL('page/', import.meta.url)
const SWAGGER_UI_FOLDER = import.meta.url.endsWith('.ts')
  ? new URL('.', import.meta.resolve('swagger-ui-dist/package.json'))
  : new URL('swagger-ui/', import.meta.url)

const FILES = [
  ...['page.css', 'page.js', 'icon.svg'].map((name) => new URL(name, PAGE_FOLDER)),
  ...['swagger-ui.css', 'swagger-ui-bundle.js'].map((name) => new URL(name, SWAGGER_UI_FOLDER)),
]

/**
 * Creates the handlers, by path, of the OpenAPI document, and of the page that shows it and calls the service. They need
 * no token, so their files are read and hashed here, once: `express.static` reads the disk for each request, and its ETag
 * is the same for two versions of a file with one size and one time.
 *
 * @param publicUrl the server that the document names; default: the origin that has served it
 */
export function createDocs(publicUrl: string | undefined): Readonly<Record<string, RequestHandler>> {
  /** It is created once, which takes milliseconds. */
  let document: Buffer | undefined

  // With the command that works here.
  const html = readFileSync(new URL('index.html', PAGE_FOLDER), 'utf8')
  const page = html.replace('plant-store</span>', `${ownCommand}</span>`)
  const files = FILES.map((file) => [path.basename(file.pathname), readFileSync(file)] as const)
  return {
    '/openapi.json': async (_request, response) => {
      const { createOpenApiDocument } = await import('@plant-store/contract/openapi')
      const servers = publicUrl && { servers: [{ url: publicUrl }] }
      document ??= Buffer.from(JSON.stringify({ ...createOpenApiDocument(), ...servers }))
      send(response.type('json'), document)
    },
    '/docs': createFileHandler('index.html', Buffer.from(page)),
    // The page names its files from the folder above. Relative, since a proxy may strip a prefix.
    '/docs/': (_request, response) => response.status(308).location('../docs').end(),
    ...Object.fromEntries(files.map(([name, content]) => [`/docs/${name}`, createFileHandler(name, content)])),
  }
}

/** Creates the handler of a file, whose name says what it is. */
function createFileHandler(name: string, content: Buffer): RequestHandler {
  const etag = `"${hash('sha256', content, 'base64url')}"`
  return (_request, response) => send(response.type(name).set('ETag', etag), content)
}

/** Sends content that clients cache and revalidate, so that they see a new version immediately. */
function send(response: Response, content: Buffer): void {
  // Express sends a 304 to a client that has this version, and an ETag where there is none.
  response.set({ 'Cache-Control': 'no-cache', 'Content-Security-Policy': PAGE_POLICY }).send(content)
}
