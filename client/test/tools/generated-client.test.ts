/** A client that another tool generates from the document of the running service compiles and works. */
import { cp, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { INSTALL_TIMEOUT, installTools } from '../../../test/helpers/install-tools.ts'
import { run } from '../../../test/helpers/packed-package.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { temporaryFolder } from '../../../test/helpers/temporary.ts'
import { bundle } from '../helpers/bundle.ts'
import { expectToCompile } from '../helpers/generated-sdk.ts'

const tools = path.dirname(fileURLToPath(import.meta.url))

test('the client of @hey-api/openapi-ts', { timeout: INSTALL_TIMEOUT }, async () => {
  const installed = await installTools(tools)
  const folder = temporaryFolder(installed)
  await using server = await startTestServer()
  const generator = path.join(installed, 'node_modules/.bin/openapi-ts')
  const plugins = ['typescript', 'transformers', 'sdk', 'client-fetch'].map((name) => `@hey-api/${name}`)
  const options = ['-i', `${server.url}/openapi.json`, '-o', 'generated', '-p', ...plugins]
  await run(process.execPath, [generator, ...options], folder)
  await cp(path.join(tools, 'apps/generated-client.ts'), path.join(folder, 'app.ts'))
  const lib = ['es2023', 'dom', 'dom.iterable']
  const loose = { exactOptionalPropertyTypes: false, noPropertyAccessFromIndexSignature: false, types: ['node'] }
  await expectToCompile(folder, { module: 'esnext', moduleResolution: 'bundler', lib, ...loose })
  // Its imports have no extensions, so it needs a bundler.
  await writeFile(path.join(folder, 'app.mjs'), (await bundle("import './app.ts'", folder)).text)
  const output = await run(process.execPath, ['app.mjs', server.url, server.token], folder)
  const plants = [{ name: '🌱 Ficus é', tag: '' }, { name: '' }]
  expect(JSON.parse(output)).toEqual([...plants, 40003, { name: 'above' }, plants])
  const responses = ['9007199254740992', '9007199254740993'].map((id) => server.post(`{"id":${id},"name":"probe"}`))
  expect((await Promise.all(responses)).map(({ status }) => status)).toEqual([200, 400])
})
