import { createInterface } from 'node:readline'
import {
  createSchemaEngine,
  type Datamodel,
  type DevDiagnosticInput,
  type SchemaEngine,
} from '../src/migration/schema-engine.ts'
import type { EngineDatabase } from './engine.ts'
import { toRpcError } from './prisma-error.ts'

interface Request {
  id: number
  method: string
  params?: unknown
}

/**
 * Serves the Prisma command line: one JSON-RPC request per line of standard input, one response per line of standard
 * output, until standard input ends.
 *
 * @param open opens the database for the first method
 */
export async function serveJsonRpc(
  open: (method: string) => Promise<EngineDatabase>,
  datamodels: Datamodel[],
): Promise<void> {
  let opened: EngineDatabase | undefined
  let engine: SchemaEngine | undefined
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line) as Request
    // The command line confirms what it has printed.
    if (!request.method) continue
    try {
      const database = opened ?? (await open(request.method))
      opened = database
      const result = await database.run(async () => {
        engine ??= await createSchemaEngine(database, datamodels)
        return runMethod(engine, database, request)
      })
      const text = (result as { stdout?: string } | undefined)?.stdout
      if (text) send({ id: request.id, method: 'print', params: { content: text } })
      send({ id: request.id, result: result ?? {} })
    } catch (error) {
      send({ id: request.id, error: toRpcError(error) })
    }
  }
  await opened?.close()
}

async function runMethod(
  engine: SchemaEngine,
  database: EngineDatabase,
  { method, params }: Request,
): Promise<unknown> {
  if (method === 'reset') return database.reset()
  // These two need the result of the migrations but open no shadow database for it. Diagnosing does, and the engine
  // caches the result.
  if (method === 'evaluateDataLoss' || method === 'createMigration')
    await engine.devDiagnostic(params as DevDiagnosticInput)
  const operation: unknown = Reflect.get(engine, method === 'getDatabaseVersion' ? 'version' : method)
  if (typeof operation !== 'function') throw new Error(`The schema engine has no method ${method}`)
  return Reflect.apply(operation, engine, [params])
}

function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}
