import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { explainSkipped, findRuntime, noteAbsence } from '../../../test/helpers/runtimes.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { until } from '../../../test/helpers/until.ts'
import { MAX_PIPELINED } from '../../src/http/listen/pipelining.ts'
import { open } from '../helpers/open-socket.ts'
import { sendRaw } from '../helpers/send-raw.ts'
import { createRequest, listRequest } from '../helpers/wire/keep-alive-caller.ts'

describe('pipelined requests', () => {
  test('are handled one after the other: a list has the plant of the request before it', async () => {
    await using server = await startTestServer()
    const list = listRequest(server.token)
    const requests = [1, 2, 3].map((id) => createRequest(server.token, id, `plant ${id}`) + list)
    requests.push(list.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))
    const text = await sendRaw(server.url, requests.join(''), { quiet: 10_000 })
    const bodies = text.split('HTTP/1.1 200 OK').map((response) => response.split('\r\n\r\n')[1])
    const names = [1, 2, 3].map((id) => ({ name: `plant ${id}` }))
    expect(bodies.slice(1).map((body) => JSON.parse(body ?? ''))).toEqual([
      names[0],
      names.slice(0, 1),
      names[1],
      names.slice(0, 2),
      names[2],
      names,
      names,
    ])
  })

  test(`more than ${MAX_PIPELINED} waiting ones are not handled, and the connection says so and closes`, async () => {
    await using server = await startTestServer()
    const sent = MAX_PIPELINED + 20
    const requests = Array.from({ length: sent }, (_, id) => createRequest(server.token, id))
    const text = await sendRaw(server.url, requests.join(''), { quiet: 10_000 })
    const responses = text.split('HTTP/1.1 ').slice(1)
    expect(responses).toHaveLength(MAX_PIPELINED + 1)
    expect(responses.filter((response) => response.startsWith('200 '))).toHaveLength(MAX_PIPELINED + 1)
    expect(responses.map((response) => /^Connection: close\r$/m.test(response))).toEqual(
      responses.map((response) => response === responses.at(-1)),
    )
    expect(await (await server.call('/plants')).json()).toHaveLength(MAX_PIPELINED + 1)
  })

  test('those of a connection that closes are not in flight, and do not begin', async () => {
    await using server = await startTestServer({ adminPort: 0, maxRequestsInFlight: 100 })
    const requests = [
      listRequest(server.token),
      listRequest('wrong'),
      'GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n',
      'PUT /plants HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n',
      createRequest(server.token, 1),
    ]
    for (let connection = 0; connection < 50; connection++) {
      const socket = await open(server.url)
      socket.write(requests.join('').repeat(10), () => socket.destroy())
      await once(socket, 'close')
    }
    await until(async () => (await gauge(server.adminUrl)) === 0)
    for (let request = 0; request < 20; request++) expect((await server.call('/plants')).status).toBe(200)
  })
})

const run = promisify(execFile)
const script = fileURLToPath(new URL('../helpers/wire/pipelining-scenario.ts', import.meta.url))

describe('every request ends once, whatever its connection does', () => {
  const runtimes: [string, string | undefined][] = [
    [`Node.js ${process.versions.node}`, process.execPath],
    ...['22', '24', '26'].map((major): [string, string | undefined] => [
      `Node.js ${major}`,
      findRuntime(`node-${major}/bin/node`),
    ]),
  ]
  for (const [name, program] of runtimes) {
    noteAbsence(name, program)
    test.skipIf(!program)(`on ${name}`, { timeout: 60_000 }, async () => {
      const options = ['--import', import.meta.resolve('tsx'), '--conditions=@plant-store/source']
      const { stdout, stderr } = await run(program ?? '', [...options, script], {
        timeout: 50_000,
        killSignal: 'SIGKILL',
      })
      const { started, ended, inFlight, spans, sockets } = JSON.parse(stdout)
      // The sequence of a connection that never ends its requests.
      expect(stderr.replace(/^.*Warning.*\n.*\n/gm, '')).toBe('')
      expect(started).toBeGreaterThan(100)
      expect({ ended, inFlight }).toEqual({ ended: started, inFlight: 0 })
      expect(spans).toEqual({ started, ended: started })
      expect(sockets).toBe(0)
    })
  }
  afterAll(explainSkipped)
})

async function gauge(adminUrl: string | undefined): Promise<number> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text()
  return Number(/^http_server_active_requests (\d+)$/m.exec(text)?.[1])
}
