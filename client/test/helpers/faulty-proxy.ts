import { randomUUID } from 'node:crypto'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { startTinyServer } from './tiny-server.ts'

/**
 * Starts the real service behind a proxy, also under `/api`, that can also redirect and hang.
 *
 * @param files additional files to serve, by path
 */
export async function startFaultyProxy(files: Record<string, { type: string; text: string }> = {}) {
  const service = await startTestServer()
  const elsewhere = await startTinyServer((response) => response.end('[]'))
  const server = await startTinyServer(async (response, { method, url: target, headers, body }) => {
    const url = target.replace(/^\/api(?=\/)/, '')
    const file = files[url]
    if (file) return response.writeHead(200, { 'content-type': file.type }).end(file.text)
    if (url.startsWith('/redirect/')) return response.writeHead(302, { location: `${elsewhere.url}${url}` }).end()
    if (url.startsWith('/hang/')) return undefined
    const passed = { authorization: headers.authorization ?? '', 'content-type': headers['content-type'] ?? '' }
    const forwarded = await fetch(service.url + url, { method, headers: passed, ...(body && { body }) })
    return response.writeHead(forwarded.status, Object.fromEntries(forwarded.headers)).end(await forwarded.text())
  })
  return {
    url: server.url,
    /** The target of the redirects, which must not get the token. */
    elsewhere,
    /** Creates a token of a new account. */
    createToken: async () => (await service.createToken({ account: randomUUID() })).token,
    async [Symbol.asyncDispose]() {
      for (const resource of [server, elsewhere, service]) await resource[Symbol.asyncDispose]()
    },
  }
}
