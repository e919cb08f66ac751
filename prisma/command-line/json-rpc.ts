import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { databaseUrl } from '../src/database-url.ts'
import { createSchemaEngine, type Datamodel, type DevDiagnosticInput } from '../src/migration/schema-engine.ts'
import { databaseFile } from '../src/sqlite/database-file.ts'
import { EngineDatabase } from './engine-database.ts'

interface Request {
  id: number
  method: string
  params?: unknown
}

/**
 * Serves the Prisma command line: one JSON-RPC request per line of standard input, one response per line of standard
 * output, until standard input ends.
 */
export async function serveJsonRpc(url: string | undefined, datamodels: Datamodel[]): Promise<void> {
  let run: Operation | undefined
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line) as Request
    // The command line confirms what it has printed.
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
    // These two need the result of the migrations but open no shadow database for it. Diagnosing does, and the engine
    // caches the result.
    if (method === 'evaluateDataLoss' || method === 'createMigration')
      await engine.devDiagnostic(params as DevDiagnosticInput)
    const operation: unknown = Reflect.get(engine, method === 'getDatabaseVersion' ? 'version' : method)
    if (typeof operation !== 'function') throw new Error(`The schema engine has no method ${method}`)
    return Reflect.apply(operation, engine, [params])
  }
}

/** Returns the database to work in. `migrate diff` compares schema files, which needs any database. */
function locate(url: string | undefined, method: string): string {
  if (url !== undefined && existsSync(databaseFile(url))) return databaseUrl(url)
  if (method === 'diff') return ':memory:'
  throw new Error(`The database at ${url} does not exist`)
}

function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}

/** Turns an error of the engine, with a `code` such as P3018, into one that the command line prints. */
function toRpcError(error: unknown) {
  const { message, code } = error as { message?: string; code?: string }
  return {
    code: 4466,
    message: 'The schema engine failed',
    data: { is_panic: false, message: message ?? String(error), error_code: code },
  }
}
