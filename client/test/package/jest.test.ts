/** The package in Jest, whose jsdom has no `fetch`, `Request`, `Response` and `TextEncoder`. */
import { cp } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { INSTALL_TIMEOUT, installTools } from '../../../test/helpers/install-tools.ts'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { explainSkipped, findRuntime, noteAbsence } from '../../../test/helpers/runtimes.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { type Consumer, createConsumer, run } from '../helpers/packed-package.ts'

const MINUTE = 60_000
const files = fileURLToPath(new URL('../jest', import.meta.url))
const tools = fileURLToPath(new URL('../recipes', import.meta.url))

if (!isLong) console.log('Skipped: Jest, because it is installed for the test (PLANT_STORE_LONG_TESTS=1 runs it)')

describe.skipIf(!isLong)('the package runs in Jest', () => {
  let consumer: Consumer
  let server: TestServer
  beforeAll(async () => {
    consumer = await createConsumer(await installTools(tools))
    await cp(files, consumer.folder, { recursive: true })
    server = await startTestServer()
  }, INSTALL_TIMEOUT)
  afterAll(async () => {
    explainSkipped()
    await server.close()
  })

  const programs: [string, string | undefined][] = [
    [`Node.js ${process.versions.node}`, process.execPath],
    ['Node.js 24', findRuntime('node-24/bin/node')],
  ]
  const noFetch = 'fetch: set the option or globalThis.fetch'
  // Node.js 24 rejects the AbortSignal of jsdom.
  const foreignSignal = 'fetch: the function failed: RequestInit: Expected signal'
  const environments: [string, (program: string) => string][] = [
    ['node', () => ''],
    ['jsdom', () => noFetch],
    ['./jsdom-with-fetch.cjs', (program) => (program === 'Node.js 24' ? foreignSignal : '')],
  ]

  for (const [name, program] of programs) {
    noteAbsence(name, program)
    test.skipIf(!program).each(environments)(
      `on ${name}, with the environment %s`,
      { timeout: MINUTE },
      async (environment, failure) => {
        const jest = path.join(consumer.folder, '../node_modules/jest/bin/jest.js')
        const { token } = await server.createToken({ account: `${name} ${environment}` })
        const settings = { SERVICE_URL: server.url, SERVICE_TOKEN: token, EXPECTED_FAILURE: failure(name) }
        const parameters = [jest, '--env', environment, '--testMatch', '**/sdk.jest.cjs', '--cache=false']
        await run(String(program), parameters, consumer.folder, settings)
      },
    )
  }
})
