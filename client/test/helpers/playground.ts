import { randomUUID } from 'node:crypto'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { startTinyServer, type TinyServer } from './tiny-server.ts'

/** The real service behind a server that also redirects elsewhere, cuts its answer off and hangs. */
export interface Playground extends AsyncDisposable {
  url: string
  /** The server that it redirects to: it must not hear of the token. */
  elsewhere: TinyServer
  /** A token of an account that nobody else has. */
  createToken(): Promise<string>
}

/** @param files what else is served, by path */
export async function startPlayground(files: Record<string, { type: string; text: string }> = {}): Promise<Playground> {
  const service = await startTestServer()
  const elsewhere = await startTinyServer((response) => response.end('[]'))
  const server = await startTinyServer(async (response, { method, url, headers, body }) => {
    const file = files[url]
    if (file) return response.writeHead(200, { 'content-type': file.type }).end(file.text)
    if (url.startsWith('/redirect/')) return response.writeHead(302, { location: `${elsewhere.url}${url}` }).end()
    if (url.startsWith('/cut/'))
      return response.writeHead(200, { 'content-type': 'application/json' }).end('[{"name":"F')
    if (url.startsWith('/hang/')) return undefined
    const passed = { authorization: headers.authorization ?? '', 'content-type': headers['content-type'] ?? '' }
    const answer = await fetch(service.url + url, { method, headers: passed, ...(body && { body }) })
    return response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
  })
  return {
    url: server.url,
    elsewhere,
    createToken: async () => (await service.createToken({ account: randomUUID() })).token,
    async [Symbol.asyncDispose]() {
      for (const resource of [server, elsewhere, service]) await resource[Symbol.asyncDispose]()
    },
  }
}
