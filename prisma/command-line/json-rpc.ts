import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { databaseFile, databaseUrl } from '../src/database-url.ts'
import { createSchemaEngine, type Datamodel, type DevDiagnosticInput } from '../src/migration/schema-engine.ts'
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
  let run: Operation | undefined
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line) as Request
    // The command line confirms what it was asked to print; nobody waits for that.
    if (!request.method) continue
    try {
      run ??= await startEngine(locate(url, request.method), datamodels)
      const result = await run(request)
      const text = (result as { stdout?: string } | undefined)?.stdout
      if (text) send({ id: request.id, method: 'print', params: { content: text } })
      send({ id: request.id, result: result ?? {} })
    } catch (error) {
      send({ id: request.id, error: toRpcError(error) })
    }
  }
}

type Operation = (request: Request) => Promise<unknown>

async function startEngine(location: string, datamodels: Datamodel[]): Promise<Operation> {
  const database = new EngineDatabase(location)
  const engine = await createSchemaEngine(database, datamodels)
  return async ({ method, params }) => {
    if (method === 'reset') return database.reset()
    // These two work out what the migrations make, for which they open no shadow database. Diagnosing opens one, and
    // the engine remembers the answer.
    if (method === 'evaluateDataLoss' || method === 'createMigration')
      await engine.devDiagnostic(params as DevDiagnosticInput)
    const operation: unknown = Reflect.get(engine, method === 'getDatabaseVersion' ? 'version' : method)
    if (typeof operation !== 'function') throw new Error(`The schema engine has no method ${method}`)
    return Reflect.apply(operation, engine, [params])
  }
}

/** Comparing schema files, as `migrate diff` does, needs a database to work in, but not ours. */
function locate(url: string | undefined, method: string): string {
  if (url !== undefined && existsSync(databaseFile(url))) return databaseUrl(url)
  if (method === 'diff') return ':memory:'
  throw new Error(`There is no database at ${url}`)
}

function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
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
