import type { Express, NextFunction, Request, Response } from 'express'
import { Failure } from '../../failure.ts'

interface Route {
  method: string
  path: string
}

/**
 * Answers a known path with a method that it does not take: 405 with `Allow` (RFC 9110 section 15.5.6), or what
 * `OPTIONS` asks for. To be called after the routes are in place.
 */
export function refuseOtherMethods(app: Express, routes: readonly Route[]): void {
  const paths = new Map<string, string[]>()
  for (const { method, path } of routes) paths.set(path, [...(paths.get(path) ?? []), method])
  for (const [path, methods] of paths) {
    const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].sort().join(', ')
    app.all(path, ({ method }: Request, response: Response) => {
      if (method !== 'OPTIONS') {
        throw new Failure('methodNotAllowed', `This path takes ${allow}.`, { headers: { Allow: allow } })
      }
      response.set('Allow', allow).status(204).end()
    })
  }
  // `OPTIONS *` asks about the server as a whole (RFC 9110 section 9.3.7).
  app.use(({ method, url }: Request, response: Response, next: NextFunction) => {
    if (method !== 'OPTIONS' || url !== '*') return next()
    response.status(204).end()
  })
}

/** Answers whatever no route has taken: 404. */
export function refuseUnknownPaths(app: Express): void {
  app.use(() => {
    throw new Failure('notFound')
  })
}
