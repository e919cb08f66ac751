import { DatabaseError, databaseUrl } from '@plant-store/prisma'
import bytes from 'bytes'
import * as z from 'zod'

/** A setting as it is written in the environment; an empty one counts as not set. */
function setting<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess((value) => (value === '' ? undefined : value), schema)
}

const MAXIMUM_BODY_LIMIT = 64 * 2 ** 20

const SettingsSchema = z.object({
  HOST: setting(z.string().default('127.0.0.1')),
  PORT: setting(
    z
      .string()
      .regex(/^\d{1,5}$/, { error: 'must be a port number, 0 to 65535 (0: any free one)' })
      .default('3000')
      .transform(Number)
      .refine((port) => port <= 65_535, { error: 'must be a port number, 0 to 65535 (0: any free one)' }),
  ),
  DATABASE_URL: setting(z.string().optional().transform(checkedDatabaseUrl)),
  PUBLIC_URL: setting(
    z
      .url({ protocol: /^https?$/, error: 'must be an http or https URL, such as https://plants.example.com' })
      .refine((url) => !/[?#]/.test(url), { error: 'must not have a query or a fragment' })
      .transform((url) => url.replace(/\/+$/, ''))
      .optional(),
  ),
  LOG_LEVEL: setting(
    z
      .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
        error: 'must be one of fatal, error, warn, info, debug, trace, silent',
      })
      .default('info'),
  ),
  BODY_LIMIT: setting(
    z
      .string()
      .regex(/^\d+(?:\.\d+)?(?:b|kb|mb)$/i, { error: 'must be a size such as 512kb or 1mb' })
      .default('1mb')
      .transform((size) => bytes.parse(size) ?? 0)
      .refine((size) => size >= 1 && size <= MAXIMUM_BODY_LIMIT, { error: 'must be between 1b and 64mb' }),
  ),
})

/** The settings of the server, checked. */
export interface Settings {
  host: string
  /** 0: any free port. */
  port: number
  /** An absolute `file:` URL. */
  databaseUrl: string
  /** The base address that callers use, without a trailing slash; not set: as requested. */
  publicUrl: string | undefined
  logLevel: z.output<typeof SettingsSchema>['LOG_LEVEL']
  /** The largest request body, in bytes. */
  bodyLimit: number
}

/** Settings are wrong. The message names each, and what it must be. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
}

/**
 * Reads the settings from an environment.
 *
 * @throws SettingsError that tells of all mistakes at once
 */
export function readSettings(environment: Record<string, string | undefined>): Settings {
  const { data, error } = SettingsSchema.safeParse(environment)
  if (error) {
    const lines = error.issues.map(({ path, message }) => `  ${path.join('.')} ${message}`)
    throw new SettingsError(`Mend these settings and start again:\n${lines.join('\n')}`)
  }
  return {
    host: data.HOST,
    port: data.PORT,
    databaseUrl: data.DATABASE_URL,
    publicUrl: data.PUBLIC_URL,
    logLevel: data.LOG_LEVEL,
    bodyLimit: data.BODY_LIMIT,
  }
}

function checkedDatabaseUrl(value: string | undefined, context: z.RefinementCtx): string {
  try {
    return databaseUrl(value)
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error
    context.addIssue({ code: 'custom', message: error.message.replace(/^DATABASE_URL /, '') })
    return z.NEVER
  }
}
