import { createInterface } from 'node:readline'
import { databaseUrl } from '../src/database-url.ts'
import { createSchemaEngine, type Datamodel } from '../src/schema-engine.ts'
import { EngineDatabase } from './engine-database.ts'

interface Request {
  id: number
  method: string
  params?: unknown
}

/**
 * Answers the Prisma command line: one JSON-RPC request a line on standard input, one answer a line on standard
 * output, until standard input ends.
 */
export async function serveJsonRpc(url: string | undefined, datamodels: Datamodel[]): Promise<void> {
  // Commands that compare schema files, such as `migrate diff --to-schema`, name no database.
  const database = new EngineDatabase(url === undefined ? ':memory:' : databaseUrl(url))
  const engine = await createSchemaEngine(database, datamodels)

  const run = async ({ method, params }: Request): Promise<unknown> => {
    if (method === 'reset') return database.reset()
    const operation: unknown = Reflect.get(engine, method === 'getDatabaseVersion' ? 'version' : method)
    if (typeof operation !== 'function') throw new Error(`The schema engine has no method ${method}`)
    return Reflect.apply(operation, engine, [params])
  }

  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line) as Request
    const answer = await run(request).then(
      (result) => ({ result: result ?? {} }),
      (error: unknown) => ({ error: toRpcError(error) }),
    )
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: request.id, ...answer })}\n`)
  }
}

/** The engine's errors carry a `code` such as P3018; the command line shows it with the message. */
function toRpcError(error: unknown) {
  const { message, code } = error as { message?: string; code?: string }
  return {
    code: 4466,
    message: 'The schema engine failed',
    data: { is_panic: false, message: message ?? String(error), error_code: code },
  }
}
