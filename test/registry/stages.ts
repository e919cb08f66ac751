/**
 * The staged releases of npm, which verdaccio lacks: the endpoints that `npm stage` calls (npm 11.19 and 12.2), in front of
 * another registry. A staged version is not published before its approval, which needs a one-time password. A new package gets
 * no placeholder.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

/** A second factor of the maintainer. */
export const ONE_TIME_PASSWORD = '123456'

/** What npm sends to publish a package. */
interface Publication {
  name: string
  versions: Record<string, { version: string; dist: { shasum: string } }>
}

/** Starts a registry that stages, and passes other requests on to the one at a URL. Returns its own URL. */
export async function startStages(registry: string) {
  const staged = new Map<string, Publication>()
  const itemOf = (id: string, { name, versions }: Publication) => {
    const [{ version, dist } = { version: '', dist: { shasum: '' } }] = Object.values(versions)
    return { id, packageName: name, version, shasum: dist.shasum, tag: 'latest', status: 'pending' }
  }
  const items = () => [...staged].map(([id, publication]) => itemOf(id, publication))

  /** Returns the status of the response, and its body. */
  async function respond(incoming: IncomingMessage, path: string): Promise<[status: number, body: unknown]> {
    const { method, headers } = incoming
    const { authorization = '' } = headers
    const call = (target: string, options: RequestInit = {}) =>
      fetch(registry + target, { ...options, headers: { authorization, 'content-type': 'application/json' } })
    if (!(await call('-/whoami')).ok) return [401, { error: 'Log in.' }]
    if (method === 'POST' && path.startsWith('/package/')) {
      const publication = (await json(incoming)) as Publication
      const { packageName, version } = itemOf('', publication)
      const known = await call(`${encodeURIComponent(packageName)}/${version}`)
      if (known.ok || items().some((item) => item.packageName === packageName && item.version === version))
        return [409, { error: `${packageName}@${version} is staged or published already.` }]
      const stageId = randomUUID()
      staged.set(stageId, publication)
      return [201, { stageId }]
    }
    if (path === '') return [200, { items: items(), total: staged.size }]
    const [, id = '', action] = path.split('/')
    const publication = staged.get(id)
    if (!publication) return [404, { error: 'Nothing is staged with this id.' }]
    if (method === 'GET') return [200, itemOf(id, publication)]
    if (headers['npm-otp'] !== ONE_TIME_PASSWORD) return [401, { error: 'One-time password needed.' }]
    if (action === 'approve') {
      const body = JSON.stringify(publication)
      const { ok, status } = await call(encodeURIComponent(publication.name), { method: 'PUT', body })
      if (!ok) return [status, { error: 'You may not publish.' }]
    }
    staged.delete(id)
    return [200, {}]
  }

  function passOn(incoming: IncomingMessage, response: ServerResponse): void {
    const { method, headers, url = '' } = incoming
    incoming.pipe(
      request(registry.slice(0, -1) + url, { method, headers }, (passed) => {
        response.writeHead(passed.statusCode ?? 502, passed.headers)
        passed.pipe(response)
      }),
    )
  }

  const server = createServer(async (incoming, response) => {
    const [, path] = /^\/-\/stage(\/[^?]*|)(?:\?|$)/.exec(incoming.url ?? '') ?? []
    if (path === undefined) return passOn(incoming, response)
    const [status, body] = await respond(incoming, path)
    const headers = { 'content-type': 'application/json', ...(status === 401 && { 'www-authenticate': 'OTP' }) }
    response.writeHead(status, headers).end(JSON.stringify(body))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const close = () => void server.close().closeAllConnections()
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, close }
}
