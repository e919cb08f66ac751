/** Tools that share no code with this project read the OpenAPI document of the running service. */
import { cp, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { installTools } from '../../../test/helpers/install-tools.ts'
import { FICUS, operations, stringify } from '../../../test/helpers/operations.ts'
import { run } from '../../../test/helpers/packed-package.ts'
import { freePort, responds, startProgram } from '../../../test/helpers/programs.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { temporaryFolder } from '../../../test/helpers/temporary.ts'
import { bundle } from '../helpers/bundle.ts'
import { expectToCompile } from '../helpers/generated-sdk.ts'

const tools = path.dirname(fileURLToPath(import.meta.url))
const installed = await installTools(tools)
const programOf = (name: string) => [process.execPath, path.join(installed, 'node_modules/.bin', name)] as const
const service = await startTestServer()
const document = `${service.url}/openapi.json`

test('Prism: responses are as the document says, and so are requests that the service accepts', async () => {
  const port = String(await freePort())
  const url = `http://127.0.0.1:${port}`
  const options = ['proxy', document, service.url, '--port', port, '--verboseLevel', 'warn']
  await using _ = await startProgram([...programOf('prism'), ...options], responds(url))
  // Prism rounds longer ids.
  const requests = operations.flatMap((operation) => operation.requests).filter(([, , body]) => !/\d{16}/.test(body))
  let judged = 0
  for (const [what, request, body, expected] of [...requests, ['no token', 'GET /plants', '', 40101] as const]) {
    const [method = '', target] = request.split(' ')
    const { token } = await service.createToken({ account: what })
    await service.post(String(stringify(FICUS)), { token })
    const authorization = what === 'no token' ? '' : `Bearer ${token}`
    const headers = { authorization, ...(body && { 'content-type': 'application/json' }) }
    const response = await fetch(url + target, { method, headers, ...(body && { body }) })
    const isError = typeof expected === 'number'
    expect([response.ok, response.headers.get('x-request-id')], what).toEqual([!isError, expect.any(String)])
    const violations: { location: string[] }[] = JSON.parse(response.headers.get('sl-violations') ?? '[]')
    const unexpected = violations.filter(({ location }) => location[0] !== 'request' || !isError)
    expect(unexpected, what).toEqual([])
    judged += violations.length
  }
  // The invalid requests.
  expect(judged).toBeGreaterThan(0)
})

test('a client that @hey-api/openapi-ts generates compiles and works', async () => {
  const folder = temporaryFolder(installed)
  const { token } = await service.createToken({ account: 'hey-api' })
  const plugins = ['typescript', 'transformers', 'sdk', 'client-fetch'].map((name) => `@hey-api/${name}`)
  const [node, generator] = programOf('openapi-ts')
  await run(node, [generator, '-i', document, '-o', 'generated', '-p', ...plugins], folder)
  await cp(path.join(tools, 'apps/generated-client.ts'), path.join(folder, 'app.ts'))
  const lib = ['es2023', 'dom', 'dom.iterable']
  const loose = { exactOptionalPropertyTypes: false, noPropertyAccessFromIndexSignature: false, types: ['node'] }
  await expectToCompile([folder], { module: 'esnext', moduleResolution: 'bundler', lib, ...loose })
  // Its imports have no extensions, so it needs a bundler.
  await writeFile(path.join(folder, 'app.mjs'), (await bundle("import './app.ts'", folder)).text)
  const output = await run(node, ['app.mjs', service.url, token], folder)
  const plants = [{ name: '🌱 Ficus é', tag: '' }, { name: '' }]
  expect(JSON.parse(output)).toEqual([...plants, 40003, { name: 'above' }, plants])
  const ids = ['9007199254740992', '9007199254740993']
  const responses = ids.map((id) => service.post(`{"id":${id},"name":"probe"}`, { token }))
  expect((await Promise.all(responses)).map(({ status }) => status)).toEqual([200, 400])
})
