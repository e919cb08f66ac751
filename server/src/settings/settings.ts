import * as z from 'zod'
import type { TokenIssuer } from '../accounts/json-web-token.ts'
import type { ConnectionLimits } from '../http/listen/http-server.ts'
import type { LoadLimits } from '../limits/load-shedding.ts'
import type { RateLimit } from '../limits/rate-limit.ts'
import { formatDuration } from './duration.ts'
import {
  CountSchema,
  DatabaseUrlSchema,
  KeysUrlSchema,
  MemorySchema,
  OriginsSchema,
  PortSchema,
  PublicUrlSchema,
  RateLimitSchema,
  SizeSchema,
  TimeoutOrNoneSchema,
  TimeoutSchema,
  TrustProxySchema,
} from './formats.ts'

const DEFAULT_BODY_MEMORY = 64 * 2 ** 20
/** So many of the largest bodies can be received at the same time by default. */
const BODIES = 4

/** A setting as it is written in the environment; an empty one counts as not set. */
function setting<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess((value) => (value === '' ? undefined : value), schema)
}

const SettingsSchema = z.object({
  HOST: setting(z.string().default('127.0.0.1')),
  PORT: setting(PortSchema.default(3000)),
  DATABASE_URL: setting(DatabaseUrlSchema),
  PUBLIC_URL: setting(PublicUrlSchema.optional()),
  LOG_LEVEL: setting(
    z
      .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
        error: 'must be one of fatal, error, warn, info, debug, trace, silent',
      })
      .default('info'),
  ),
  BODY_LIMIT: setting(SizeSchema.default(2 ** 20)),
  MAX_BODY_MEMORY: setting(MemorySchema.optional()),
  MAX_RESPONSE_MEMORY: setting(MemorySchema.default(64 * 2 ** 20)),
  MAX_CONNECTIONS: setting(CountSchema.default(20_000)),
  HEADERS_TIMEOUT: setting(TimeoutSchema.default(10_000)),
  REQUEST_TIMEOUT: setting(TimeoutSchema.default(30_000)),
  KEEP_ALIVE_TIMEOUT: setting(TimeoutSchema.default(5_000)),
  STALL_TIMEOUT: setting(TimeoutSchema.default(40_000)),
  MAX_REQUESTS_IN_FLIGHT: setting(CountSchema.default(1_000)),
  MAX_EVENT_LOOP_DELAY: setting(TimeoutOrNoneSchema.default(250)),
  RATE_LIMIT: setting(RateLimitSchema.optional()),
  AUTH_FAILURE_LIMIT: setting(RateLimitSchema.optional()),
  TRUST_PROXY: setting(TrustProxySchema.optional()),
  CORS_ORIGINS: setting(OriginsSchema.default([])),
  JWT_ISSUER: setting(z.string().optional()),
  JWT_AUDIENCE: setting(z.string().optional()),
  JWT_JWKS_URL: setting(KeysUrlSchema.optional()),
  SHUTDOWN_DELAY: setting(TimeoutOrNoneSchema.default(1_000)),
  SHUTDOWN_TIMEOUT: setting(TimeoutSchema.default(10_000)),
  ADMIN_HOST: setting(z.string().default('127.0.0.1')),
  ADMIN_PORT: setting(PortSchema.optional()),
  DOCS: setting(
    z
      .enum(['on', 'off'], { error: 'must be on or off' })
      .default('on')
      .transform((docs) => docs === 'on'),
  ),
})

/** The settings of the server, checked. */
export interface Settings extends ConnectionLimits, LoadLimits {
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
  /** The memory of all bodies that are being received, in bytes; at least `bodyLimit`. */
  bodyMemory: number
  /** The memory of all responses that wait to be read, in bytes. */
  responseMemory: number
  /** How often a token, or the subject of JSON Web Tokens, may send requests; not set: as often as it likes. */
  rateLimit: RateLimit | undefined
  /** How often an address may fail to authenticate; not set: as often as it likes. */
  authFailureLimit: RateLimit | undefined
  /** Which proxies are believed about the address of a caller: how many of them, or their addresses; not set: none. */
  trustProxy: number | string[] | undefined
  /** The origins whose pages may call the service from a browser. */
  corsOrigins: string[]
  /** Whose JSON Web Tokens are accepted beside our own tokens; not set: nobody's. */
  tokenIssuer: TokenIssuer | undefined
  /** How long a shutdown may take, in milliseconds; then requests under way are cut off. */
  shutdownTimeout: number
  /** How long of that the server goes on serving, so that whoever balances load takes notice. */
  shutdownDelay: number
  adminHost: string
  /** The private port with probes and metrics, 0: any free one; not set: none. */
  adminPort: number | undefined
  /** Whether `/docs` and `/openapi.json` are served. */
  docs: boolean
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
  const mistakes = error?.issues.map(({ path, message }) => `${path.join('.')} ${message}`) ?? []
  mistakes.push(...findMissing(environment))
  if (data?.MAX_BODY_MEMORY !== undefined && data.MAX_BODY_MEMORY < data.BODY_LIMIT) {
    mistakes.push('MAX_BODY_MEMORY must not be less than BODY_LIMIT')
  }
  if (data) mistakes.push(...findTooLong(environment, data))
  if (!data || mistakes.length > 0) {
    throw new SettingsError(`Mend these settings and start again:\n${mistakes.map((line) => `  ${line}`).join('\n')}`)
  }
  return {
    host: data.HOST,
    port: data.PORT,
    databaseUrl: data.DATABASE_URL,
    publicUrl: data.PUBLIC_URL,
    logLevel: data.LOG_LEVEL,
    bodyLimit: data.BODY_LIMIT,
    bodyMemory: data.MAX_BODY_MEMORY ?? Math.max(DEFAULT_BODY_MEMORY, BODIES * data.BODY_LIMIT),
    responseMemory: data.MAX_RESPONSE_MEMORY,
    maximumConnections: data.MAX_CONNECTIONS,
    headersTimeout: data.HEADERS_TIMEOUT,
    requestTimeout: data.REQUEST_TIMEOUT,
    keepAliveTimeout: data.KEEP_ALIVE_TIMEOUT,
    stallTimeout: data.STALL_TIMEOUT,
    maximumInFlight: data.MAX_REQUESTS_IN_FLIGHT,
    maximumEventLoopDelay: data.MAX_EVENT_LOOP_DELAY,
    rateLimit: data.RATE_LIMIT,
    authFailureLimit: data.AUTH_FAILURE_LIMIT,
    trustProxy: data.TRUST_PROXY,
    corsOrigins: data.CORS_ORIGINS,
    tokenIssuer: toTokenIssuer(data),
    shutdownDelay: data.SHUTDOWN_DELAY,
    shutdownTimeout: data.SHUTDOWN_TIMEOUT,
    adminHost: data.ADMIN_HOST,
    adminPort: data.ADMIN_PORT,
    docs: data.DOCS,
  }
}

const PARTS_OF_TIMES = [
  ['HEADERS_TIMEOUT', 'REQUEST_TIMEOUT'],
  ['SHUTDOWN_DELAY', 'SHUTDOWN_TIMEOUT'],
] as const

/** A time that is set longer than the one it is part of cannot be honoured; a default is shortened instead. */
function findTooLong(environment: Record<string, string | undefined>, data: z.output<typeof SettingsSchema>): string[] {
  return PARTS_OF_TIMES.filter(([part, whole]) => environment[part] && data[part] > data[whole]).map(
    ([part, whole]) => `${part} must be at most ${formatDuration(data[whole])}, as long as ${whole}`,
  )
}

const ISSUER_SETTINGS = ['JWT_ISSUER', 'JWT_AUDIENCE', 'JWT_JWKS_URL'] as const

/** The settings of an issuer come together: without one of them, tokens would be accepted that are not meant for us. */
function findMissing(environment: Record<string, string | undefined>): string[] {
  const missing = ISSUER_SETTINGS.filter((name) => !environment[name])
  const given = ISSUER_SETTINGS.filter((name) => environment[name])
  return given.length > 0 ? missing.map((name) => `${name} must be set too, since ${given[0]} is`) : []
}

function toTokenIssuer({
  JWT_ISSUER: issuer,
  JWT_AUDIENCE: audience,
  JWT_JWKS_URL: keysUrl,
}: z.output<typeof SettingsSchema>): TokenIssuer | undefined {
  return issuer && audience && keysUrl ? { issuer, audience, keysUrl } : undefined
}
