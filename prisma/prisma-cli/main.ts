import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { databaseUrl, isPostgresqlUrl } from '../src/address.ts'
import { argumentUrl, type SchemaEngineDatabase } from './schema-engine-database.ts'
import { createSchemaEngine, type Datamodel, type DevDiagnosticInput, type SchemaEngine } from './webassembly-engine.ts'

interface Request {
  id: number
  method: string
  params?: unknown
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    datamodels: { type: 'string', multiple: true, default: [] },
    datasource: { type: 'string', default: '{}' },
    'enabled-preview-features': { type: 'string' },
    'extension-types': { type: 'string' },
  },
})
const url = completeUrl((JSON.parse(values.datasource) as { url?: string }).url)
const engine = await (isPostgresqlUrl(url) ? import('./postgresql.ts') : import('./sqlite.ts'))

const commands: Record<string, () => Promise<void>> = {
  '': () => serveJsonRpc(() => engine.openForSchemaEngine(url), values.datamodels),
  'cli can-connect-to-database': async () => (await engine.openForSchemaEngine(url)).close(),
  // The command line runs it where P1003 says that there is no file.
  'cli create-database': async () => (await import('./sqlite.ts')).createDatabase(url),
}
const command = positionals.join(' ')
if (!commands[command]) throw new Error(`The schema engine has no command "${command}"`)
await commands[command]().catch(reportError)
// The engine's time limit on its lock, 10 s, would keep the process running.
process.exit()

/** Replaces a URL of prisma.config.ts by the DATABASE_URL that it was made of. One of `--url` stays. */
function completeUrl(argument = ''): string {
  const own = process.env['DATABASE_URL']?.trim() || undefined
  return argumentUrl(own) === argument ? databaseUrl(own) : argument
}

/**
 * Serves the Prisma command line: one JSON-RPC request per line of standard input, one response per line of standard
 * output, until standard input ends.
 *
 * @param open opens the database
 * @param schemas files in Prisma's language
 */
async function serveJsonRpc(open: () => Promise<SchemaEngineDatabase>, schemas: string[]): Promise<void> {
  const readSchema = async (file: string): Promise<Datamodel> => [file, await readFile(file, 'utf8')]
  const datamodels = await Promise.all(schemas.map(readSchema))
  let opened: SchemaEngineDatabase | undefined
  let engine: SchemaEngine | undefined
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line) as Request
    // The command line confirms what it has printed.
    if (!request.method) continue
    try {
      opened ??= await open()
      opened.reason = undefined
      engine ??= await createSchemaEngine(opened, datamodels)
      const result = await runMethod(engine, request)
      const text = (result as { stdout?: string } | undefined)?.stdout
      if (text) send({ id: request.id, method: 'print', params: { content: text } })
      send({ id: request.id, result: result ?? {} })
    } catch (error) {
      send({ id: request.id, error: toRpcError(opened?.reason ?? error) })
    }
  }
  await opened?.close()
}

async function runMethod(engine: SchemaEngine, { method, params }: Request): Promise<unknown> {
  // The engine keeps the functions of PostgreSQL, and empties the tables of SQLite, on which the migrations then fail.
  if (method === 'reset')
    throw new Error('Not supported here: drop the database, create an empty one, and deploy to it')
  // These methods need the result of the migrations, for which only a diagnosis opens a shadow database. The engine
  // caches it.
  if (method === 'evaluateDataLoss' || method === 'createMigration')
    await engine.devDiagnostic(params as DevDiagnosticInput)
  const operation: unknown = Reflect.get(engine, method === 'getDatabaseVersion' ? 'version' : method)
  if (typeof operation !== 'function') throw new Error(`The schema engine has no method ${method}`)
  return Reflect.apply(operation, engine, [params])
}

function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}

/** Writes an error as the engine does. The command line skips the first line and reads the others as a log. */
function reportError(error: unknown): void {
  const { message, code = 'P1001' } = error as { message: string; code?: string }
  const line = { level: 'ERROR', target: 'schema_engine::logger', fields: { error_code: code, message } }
  process.stderr.write(`schema engine\n${JSON.stringify(line)}\n`)
  process.exitCode = 1
}

/** Turns an error of the engine, with a `code` such as P3018, into one that the command line prints. */
function toRpcError(error: unknown): object {
  const { message, code } = error as { message?: string; code?: string }
  return {
    code: 4466,
    message: 'The schema engine failed',
    data: { is_panic: false, message: message ?? String(error), error_code: code },
  }
}
