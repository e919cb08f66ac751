/** Prism, which shares no code with this project, compares requests and responses with the OpenAPI document. */
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { INSTALL_TIMEOUT, installTools } from '../../../test/helpers/install-tools.ts'
import { freePort, responds, startProgram } from '../../../test/helpers/programs.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'

const requests: [status: number, path: string, body?: string | undefined, token?: string][] = [
  [200, '/plants', '{"id":1,"name":"Ficus","tag":"fig"}'],
  [200, '/plants', '{"id":-1,"name":"","height":3}'],
  [400, '/plants', '{"id":1,"name":"Aloe"}'],
  [400, '/plants', '{"id":"1","name":5,"tag":null}'],
  [200, '/plants'],
  [200, '/plants?limit=1'],
  [400, '/plants?limit=0'],
  [400, '/plants?cursor=nonsense'],
  [401, '/plants', undefined, 'pst_unknown'],
]

test(
  'responses are as the document says, and so are requests that the service accepts',
  async () => {
    await using service = await startTestServer()
    const tools = await installTools(path.dirname(fileURLToPath(import.meta.url)))
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const command = [
      process.execPath,
      path.join(tools, 'node_modules/.bin/prism'),
      'proxy',
      `${service.url}/openapi.json`,
    ]
    const options = [service.url, '--port', String(port), '--verboseLevel', 'warn']
    await using _ = await startProgram([...command, ...options], responds(url))
    let judged = 0
    for (const [status, target, body, token = service.token] of requests) {
      const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) }
      const response = await fetch(url + target, { headers, ...(body && { method: 'POST', body }) })
      expect([response.status, response.headers.get('x-request-id')], target).toEqual([status, expect.any(String)])
      const violations: { location: string[] }[] = JSON.parse(response.headers.get('sl-violations') ?? '[]')
      const unexpected = violations.filter(({ location }) => location[0] !== 'request' || status < 400)
      expect(unexpected, target).toEqual([])
      judged += violations.length
    }
    // The invalid requests.
    expect(judged).toBeGreaterThan(0)
  },
  INSTALL_TIMEOUT,
)
