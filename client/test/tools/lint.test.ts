/** Spectral, a linter that other projects use, finds nothing in the document but what a list of exceptions names. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { INSTALL_TIMEOUT, installTools } from '../../../test/helpers/install-tools.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'

const tools = fileURLToPath(new URL('.', import.meta.url)).slice(0, -1)

/** What it finds, by the rule and the place. */
const exceptions = [
  // Wants a URL and an e-mail address too: the project has neither, only its repository.
  ['contact-properties', 'info.contact'],
  // OpenAPI 3.1 allows either a URL or an identifier, which needs no host.
  ['license-url', 'info.license'],
  // Knows OpenAPI 3.0 only: since 3.1, a scheme of any type may name roles, here the scope that the token needs.
  ['oas3-operation-security-defined', 'paths./plants.post.security.0.bearer.0'],
  ['oas3-operation-security-defined', 'paths./plants.get.security.0.bearer.0'],
]

test('the document of the running service is what Spectral recommends', { timeout: INSTALL_TIMEOUT }, async () => {
  const installed = await installTools(tools)
  const folder = temporaryFolder(installed)
  await using server = await startTestServer({ publicUrl: 'https://plants.test' })
  await writeFile(path.join(folder, 'openapi.json'), await (await server.call('/openapi.json')).text())
  await writeFile(path.join(folder, '.spectral.yaml'), 'extends: [["spectral:oas", all]]\n')
  const spectral = path.join(installed, 'node_modules/.bin/spectral')
  const command = [spectral, 'lint', 'openapi.json', '--format=json', '--fail-severity=hint']
  // A linter that finds something fails.
  const { stdout } = await promisify(execFile)(process.execPath, command, { cwd: folder }).catch((error) => error)
  const findings: { code: string; path: string[] }[] = JSON.parse(stdout)
  expect(findings.map(({ code, path: place }) => [code, place.join('.')])).toEqual(exceptions)
})
