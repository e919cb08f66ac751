/** The linters of other projects find nothing in the document but what a list of exceptions names. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { INSTALL_TIMEOUT, installTools } from '../../../test/helpers/install-tools.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'

const execute = promisify(execFile)
const tools = fileURLToPath(new URL('.', import.meta.url)).slice(0, -1)

/** What Spectral finds, by the rule and the place. Redocly finds nothing. */
const exceptions = [
  // Wants a URL and an e-mail address too: the project has neither, only its repository.
  ['contact-properties', 'info.contact'],
  // OpenAPI 3.1 allows either a URL or an identifier, which needs no host.
  ['license-url', 'info.license'],
  // Knows OpenAPI 3.0 only: since 3.1, a scheme of any type may name roles, here the scope that the token needs.
  ['oas3-operation-security-defined', 'paths./plants.post.security.0.bearer.0'],
  ['oas3-operation-security-defined', 'paths./plants.get.security.0.bearer.0'],
]

/** Redocly would look for a newer version of itself, and count its use. */
const environment = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }

describe('the document of the running service', () => {
  let folder: string
  let installed: string
  beforeAll(async () => {
    installed = await installTools(tools)
    folder = temporaryFolder(installed)
    await using server = await startTestServer({ publicUrl: 'https://plants.test' })
    await writeFile(path.join(folder, 'openapi.json'), await (await server.call('/openapi.json')).text())
    await writeFile(path.join(folder, 'redocly.yaml'), 'extends: [recommended-strict]\n')
    await writeFile(path.join(folder, '.spectral.yaml'), 'extends: [["spectral:oas", all]]\n')
  }, INSTALL_TIMEOUT)

  async function lint(program: string, parameters: string[]): Promise<string> {
    const script = path.join(installed, 'node_modules/.bin', program)
    const command = [script, 'lint', 'openapi.json', ...parameters]
    const options = { cwd: folder, env: environment }
    // A linter that finds something fails.
    return (await execute(process.execPath, command, options).catch((error) => error)).stdout
  }

  test('is what Redocly recommends', async () => {
    expect(JSON.parse(await lint('redocly', ['--format=json'])).problems).toEqual([])
  })

  test('is what Spectral recommends', async () => {
    const problems = JSON.parse(await lint('spectral', ['--format=json', '--fail-severity=hint']))
    const findings = problems.map(({ code, path: place }: { code: string; path: string[] }) => [code, place.join('.')])
    expect(findings).toEqual(exceptions)
  })
})
