/** An error that the Prisma command line prints with its code, such as P1003. */
export class PrismaError extends Error {
  override readonly name = 'PrismaError'
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** Writes an error as the engine does. The command line skips the first line and reads the others as a log. */
export function reportError(error: unknown): void {
  const { message, code = 'P1011' } = error as { message: string; code?: string }
  const line = { level: 'ERROR', target: 'schema_engine::logger', fields: { error_code: code, message } }
  process.stderr.write(`schema engine\n${JSON.stringify(line)}\n`)
  process.exitCode = 1
}

/** Turns an error of the engine, with a `code` such as P3018, into one that the command line prints. */
export function toRpcError(error: unknown): object {
  const { message, code } = error as { message?: string; code?: string }
  return {
    code: 4466,
    message: 'The schema engine failed',
    data: { is_panic: false, message: message ?? String(error), error_code: code },
  }
}
