/**
 * A registry for the packages of the plant store alone, with the staged releases of npm: what npm 11.19 and 12.2, and pnpm, call.
 * It has one version of each, and knows no users.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { afterFile } from './helpers/temporary.ts'

/** What npm sends to publish a version. */
interface Publication {
  name: string
  versions: Record<string, { version: string; dist: { shasum: string } }>
  _attachments: Record<string, { data: string }>
}

/** Starts a registry until the end of the test file. Returns the `.npmrc` of CI, and that of a maintainer. */
export async function startRegistry() {
  const published = new Map<string, Publication>()
  const staged = new Map<string, Publication>()

  const itemOf = (id: string, { name, versions }: Publication) => {
    const [{ version, dist } = { version: '', dist: { shasum: '' } }] = Object.values(versions)
    return { id, packageName: name, version, shasum: dist.shasum, tag: 'latest', status: 'pending' }
  }

  /** Returns the status of the response, and its body. */
  async function respondStaged(request: IncomingMessage, path: string): Promise<[status: number, body: unknown]> {
    const items = [...staged].map(([id, publication]) => itemOf(id, publication))
    if (path === '') return [200, { items, total: staged.size }]
    if (path.startsWith('/package/')) {
      const publication = (await json(request)) as Publication
      const { packageName, version } = itemOf('', publication)
      const isStaged = items.some((item) => item.packageName === packageName && item.version === version)
      if (isStaged || published.get(packageName)?.versions[version])
        return [409, { error: `${packageName}@${version} is staged or published already.` }]
      const stageId = randomUUID()
      staged.set(stageId, publication)
      return [201, { stageId }]
    }
    const [, id = '', action] = path.split('/')
    const publication = staged.get(id)
    if (!publication) return [404, { error: 'Nothing is staged with this id.' }]
    if (request.method === 'GET') return [200, itemOf(id, publication)]
    if (action === 'approve') published.set(publication.name, publication)
    staged.delete(id)
    return [200, {}]
  }

  function respondPublished(method: string, path: string): [status: number, body: unknown] {
    const [, name = '', file] = /^\/([^/]+\/[^/]+)(?:\/-\/(.*))?/.exec(path) ?? []
    const { _attachments: files = {}, ...document } = published.get(name) ?? {}
    if (method === 'DELETE') published.delete(name)
    if (!('name' in document)) return [404, { error: 'Nothing is published with this name.' }]
    return [200, file === undefined ? document : Buffer.from(String(files[file]?.data), 'base64')]
  }

  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(request.url ?? '').replace(/\?.*/, '')
    const [, stage] = /^\/-\/stage(.*)/.exec(path) ?? []
    const [status, body] =
      stage === undefined ? respondPublished(request.method ?? '', path) : await respondStaged(request, stage)
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(body instanceof Buffer ? body : JSON.stringify(body))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  afterFile(() => server.close().closeAllConnections())
  const host = `//127.0.0.1:${(server.address() as AddressInfo).port}/`
  // Other packages come from where npm is configured to.
  const ci = `@plant-store:registry=http:${host}\n${host}:_authToken=none\n`
  // `npm stage` asks the registry of all packages.
  return { ci, maintainer: `registry=http:${host}\n${ci}` }
}
