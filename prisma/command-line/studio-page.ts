import http, { type RequestListener } from 'node:http'

/** The plants. With a query, so that this address itself is not redirected. */
const PLANTS = '/?plants#table=Plant'
/** Nothing from elsewhere: Studio's page would report its start to Prisma. */
const POLICY = "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:"

/**
 * Makes Studio open on the plants and its page call only Studio itself, which has no settings for either: a table is
 * chosen in the page's URL, and the one that opens otherwise has no plants. It serves the page in this process.
 */
export function openStudioOnPlants(): void {
  const { createServer } = http
  const create = (listener: RequestListener) =>
    createServer((request, response) => {
      response.setHeader('Content-Security-Policy', POLICY)
      if (request.url === '/') response.writeHead(302, { Location: PLANTS }).end()
      else listener(request, response)
    })
  http.createServer = create as typeof createServer
}

/** Returns whether this machine can show a browser. Studio would start one, or a browser for terminals. */
export function hasDisplay({ DISPLAY, WAYLAND_DISPLAY, WSL_DISTRO_NAME }: NodeJS.ProcessEnv): boolean {
  return process.platform !== 'linux' || Boolean(DISPLAY || WAYLAND_DISPLAY || WSL_DISTRO_NAME)
}
