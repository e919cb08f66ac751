import { isIP } from 'node:net'
import { DatabaseError, databaseUrl } from '@plant-store/prisma'
import bytes from 'bytes'
import * as z from 'zod'
import type { TokenIssuer } from './accounts/json-web-token.ts'
import { parseDuration } from './duration.ts'
import type { ConnectionLimits } from './http/http-server.ts'
import type { LoadLimits } from './overload/load-shedding.ts'
import type { RateLimit } from './overload/rate-limit.ts'

const LONGEST_TIMER = 2 ** 31 - 1

/** A setting as it is written in the environment; an empty one counts as not set. */
function setting<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess((value) => (value === '' ? undefined : value), schema)
}

/** A setting whose text a function reads, or gives nothing where it is none. */
function readWith<T>(read: (text: string) => T | undefined, error: string) {
  return z.string().transform((text, context): T => {
    const value = read(text)
    if (value !== undefined) return value
    context.addIssue({ code: 'custom', message: error })
    return z.NEVER
  })
}

function parseTimer(text: string): number | undefined {
  const duration = parseDuration(text)
  return duration !== undefined && duration <= LONGEST_TIMER ? duration : undefined
}

function isSubnet(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const family = isIP(address)
  if (family === 0 || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}

const MAXIMUM_BODY_LIMIT = 64 * 2 ** 20

const PortSchema = z
  .string()
  .refine((text) => /^\d{1,5}$/.test(text) && Number(text) <= 65_535, {
    error: 'must be a port number, 0 to 65535 (0: any free one)',
  })
  .transform(Number)

const CountSchema = z
  .string()
  .regex(/^[1-9]\d{0,8}$/, { error: 'must be a whole number, 1 or more' })
  .transform(Number)

const TimeoutSchema = readWith(parseTimer, 'must be a time such as 250ms, 30s or 5m')

const TimeoutOrNoneSchema = readWith(
  (text) => (text === '0' ? 0 : parseTimer(text)),
  'must be a time such as 250ms, 30s or 5m, or 0',
)

const RateLimitSchema = readWith((text): RateLimit | undefined => {
  const [, requests, time = ''] = /^([1-9]\d{0,8})\/(.+)$/.exec(text) ?? []
  const duration = parseDuration(time)
  return duration && duration >= 1_000 ? { requests: Number(requests), seconds: duration / 1_000 } : undefined
}, 'must be a number of requests and a time of 1s or more, such as 100/1s or 6000/1m')

const OriginsSchema = readWith((text) => {
  const origins = text.split(',').map((origin) => origin.trim())
  return origins.every((origin) => URL.canParse(origin) && new URL(origin).origin === origin) ? origins : undefined
}, 'must be origins with commas between, such as https://app.example.com,http://localhost:5173; "*" is not taken')

const TrustProxySchema = readWith((text) => {
  if (/^[1-9]\d?$/.test(text)) return Number(text)
  const subnets = text.split(',').map((subnet) => subnet.trim())
  return subnets.every(isSubnet) ? subnets : undefined
}, 'must be how many proxies a request passes, such as 1, or their addresses, such as 10.0.0.0/8,127.0.0.1')

const KeysUrlSchema = readWith(
  (text) => (isSafeUrl(text) ? text : undefined),
  'must be an https URL without a user name, such as https://login.example.com/jwks.json; http only on this machine',
)

/** Whether nobody on the way can change what is fetched from a URL. */
function isSafeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, username, password } = new URL(text)
  if (username !== '' || password !== '') return false
  return protocol === 'https:' || (protocol === 'http:' && /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname))
}

const SettingsSchema = z.object({
  HOST: setting(z.string().default('127.0.0.1')),
  PORT: setting(PortSchema.default(3000)),
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
  /** How often a token may be used; not set: as often as it likes. */
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

function checkedDatabaseUrl(value: string | undefined, context: z.RefinementCtx): string {
  try {
    return databaseUrl(value)
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error
    context.addIssue({ code: 'custom', message: error.message.replace(/^DATABASE_URL /, '') })
    return z.NEVER
  }
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
