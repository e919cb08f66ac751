/** Calls in the trace of the app: by OpenTelemetry's instrumentation of `fetch`, and by a hook where that is not at hand. */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { INSTALL_TIMEOUT, installTools } from '../../../test/helpers/install-tools.ts'
import { installPackage, run } from '../../../test/helpers/packed-package.ts'
import { sendJson, startTinyServer } from '../helpers/tiny-server.ts'

const client = fileURLToPath(new URL('../..', import.meta.url))
const tools = path.join(client, '../server/test/tracing')

/** Prints the trace and the span in which it calls the service; the spans follow. */
const program = (instrumentations: string, hooks: string) => `
  import { context, propagation, trace } from '@opentelemetry/api'
  import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici'
  import { NodeSDK } from '@opentelemetry/sdk-node'
  import { createPlantStoreClient } from '@plant-store/client'

  const sdk = new NodeSDK({ instrumentations: ${instrumentations} })
  sdk.start()
  const client = createPlantStoreClient({ baseUrl: process.argv[2], token: 'pst_a', hooks: ${hooks} })
  await trace.getTracer('app').startActiveSpan('work', async (span) => {
    await client.getPlants()
    console.log(span.spanContext().traceId, span.spanContext().spanId)
    span.end()
  })
  await sdk.shutdown()`

const instrumented = ['[new UndiciInstrumentation()]', '{}', true] as const
const hooked = ['[]', '{ request: ({ headers }) => propagation.inject(context.active(), headers) }', false] as const

test('a call is in the trace of the app, by instrumentation or by a hook', { timeout: INSTALL_TIMEOUT }, async () => {
  const { folder } = await installPackage(client, { parent: await installTools(tools) })
  for (const [instrumentations, hooks, hasSpan] of [instrumented, hooked]) {
    await using server = await startTinyServer((response) => sendJson(response, 200, []))
    await writeFile(path.join(folder, 'app.mjs'), program(instrumentations, hooks))
    const settings = { OTEL_TRACES_EXPORTER: 'console', OTEL_METRICS_EXPORTER: 'none', OTEL_LOGS_EXPORTER: 'none' }
    const output = await run(process.execPath, ['app.mjs', server.url], folder, settings)
    const [, trace, span] = /^(\w{32}) (\w{16})$/m.exec(output) ?? []
    const [, sentTrace, sentSpan] = String(server.requests[0]?.headers['traceparent']).split('-')
    expect(sentTrace).toBe(trace)
    // The instrumentation adds a span of the request; the hook passes on that of the app.
    expect(sentSpan === span).toBe(!hasSpan)
    expect(/name: 'GET'/.test(output)).toBe(hasSpan)
  }
})
