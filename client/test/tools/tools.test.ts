/** A tool that shares no code with this project reads the OpenAPI document of the running service. */
import { cp, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { installTools } from '../../../test/helpers/install-tools.ts'
import { run } from '../../../test/helpers/packed-package.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { temporaryFolder } from '../../../test/helpers/temporary.ts'
import { bundle } from '../helpers/bundle.ts'
import { expectToCompile } from '../helpers/generated-sdk.ts'

const tools = path.dirname(fileURLToPath(import.meta.url))
const installed = await installTools(tools)
const service = await startTestServer()

test('a client that @hey-api/openapi-ts generates compiles and works', async () => {
  const folder = temporaryFolder(installed)
  const { token } = await service.createToken({ account: 'hey-api' })
  const plugins = ['typescript', 'transformers', 'sdk', 'client-fetch'].map((name) => `@hey-api/${name}`)
  const generator = path.join(installed, 'node_modules/.bin/openapi-ts')
  await run(
    process.execPath,
    [generator, '-i', `${service.url}/openapi.json`, '-o', 'generated', '-p', ...plugins],
    folder,
  )
  await cp(path.join(tools, 'apps/generated-client.ts'), path.join(folder, 'app.ts'))
  const lib = ['es2023', 'dom', 'dom.iterable']
  const loose = { exactOptionalPropertyTypes: false, noPropertyAccessFromIndexSignature: false, types: ['node'] }
  await expectToCompile([folder], { module: 'esnext', moduleResolution: 'bundler', lib, ...loose })
  // Its imports have no extensions, so it needs a bundler.
  await writeFile(path.join(folder, 'app.mjs'), (await bundle("import './app.ts'", folder)).text)
  const output = await run(process.execPath, ['app.mjs', service.url, token], folder)
  const plants = [{ name: '🌱 Ficus é', tag: '' }, { name: '' }]
  // The neighbour of an id that was rounded would be taken.
  expect(JSON.parse(output)).toEqual([...plants, 40003, { name: 'above' }, { name: 'below' }, plants])
})
