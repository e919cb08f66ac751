import { DEFAULT_DATABASE_URL } from '@plant-store/prisma'
import * as z from 'zod'
import * as formats from './formats.ts'

/** A setting: its format, and what `.env.example` and the README say about it. */
export interface SettingEntry {
  /** Reads the text of the environment. */
  format: z.ZodType<unknown, string>
  /** The text that the environment would have. */
  default?: string
  /** What applies while a setting without a default is not set; default: none. */
  unset?: string
  /** A value for `.env.example`, for a setting without a default. */
  example?: string
  description: string
}

/** Every setting by its environment variable; in code, `MAX_CONNECTIONS` is `maxConnections`. */
export const settingsTable = {
  HOST: {
    format: formats.TextSchema,
    default: '127.0.0.1',
    description: 'Address to listen on, unless systemd passes a socket.',
  },
  PORT: {
    format: formats.PortSchema,
    default: '3000',
    description: 'Port to listen on; 0 takes any free port and prints it.',
  },
  DATABASE_URL: {
    format: formats.DatabaseUrlSchema,
    default: DEFAULT_DATABASE_URL,
    description:
      'SQLite file, relative to the repository root or, installed as a package, to the current folder; or a PostgreSQL database, such as postgresql://user:password@localhost:5432/plants. Required with NODE_ENV=production.',
  },
  PUBLIC_URL: {
    format: formats.PublicUrlSchema,
    unset: 'as requested',
    example: 'https://plants.example.com',
    description: 'Base URL that clients use, for links and the OpenAPI document.',
  },
  LOG_LEVEL: {
    format: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
      error: 'must be one of fatal, error, warn, info, debug, trace, silent',
    }),
    default: 'info',
    description:
      'Log level: fatal, error, warn, info, debug, trace or silent. Only silent turns audit events and ACCESS_LOG off.',
  },
  ACCESS_LOG: {
    format: formats.OnOffSchema,
    default: 'off',
    description: 'Whether the log has a line for each request: on or off.',
  },
  NODE_ENV: {
    format: formats.TextSchema,
    example: 'production',
    description:
      'With production, DATABASE_URL is required, and the first startup logs how to create a token instead of printing one.',
  },
  DOCS: {
    format: formats.OnOffSchema,
    default: 'on',
    description: 'Whether /docs and /openapi.json are served: on or off.',
  },
  BODY_LIMIT: {
    format: formats.SizeSchema,
    default: '1mb',
    description: 'Largest request body, 1b to 64mb; a larger one gets 413.',
  },
  HEADERS_TIMEOUT: {
    format: formats.TimeoutSchema,
    default: '10s',
    description: 'How long the headers of a request may take to arrive; then 408.',
  },
  REQUEST_TIMEOUT: {
    format: formats.TimeoutSchema,
    default: '30s',
    description: 'How long a whole request may take to arrive, headers included; then 408.',
  },
  KEEP_ALIVE_TIMEOUT: {
    format: formats.TimeoutSchema,
    default: '5s',
    description:
      'How long a connection may be idle between two requests. Behind a proxy, longer than the idle timeout of the proxy (nginx: 60s).',
  },
  STALL_TIMEOUT: {
    format: formats.TimeoutSchema,
    default: '40s',
    description:
      'How long a client may leave a response unread, and take to read each MiB of it, before its connection is closed.',
  },
  RATE_LIMIT: {
    format: formats.RateLimitSchema,
    unset: 'unlimited',
    example: '100/1s',
    description:
      'Requests per token and time; above it, 429. All JSON Web Tokens of one subject count as one token. Each process counts for itself.',
  },
  AUTH_FAILURE_LIMIT: {
    format: formats.RateLimitSchema,
    unset: 'unlimited',
    example: '20/1m',
    description:
      'How often an address may fail to authenticate in each process (401, or 503 while the keys of JWT_ISSUER are unavailable); then 429. Valid tokens are still accepted.',
  },
  TRUST_PROXY: {
    format: formats.TrustProxySchema,
    example: '1',
    description:
      'Proxies trusted to report client addresses (X-Forwarded-For): how many are in front of the server, or their addresses, such as 10.0.0.0/8,127.0.0.1.',
  },
  CORS_ORIGINS: {
    format: formats.OriginsSchema,
    example: 'https://app.example.com,http://localhost:5173',
    description:
      'Origins whose pages may call the service from a browser, as it sends them: scheme, host and port, such as capacitor://localhost.',
  },
  JWT_ISSUER: {
    format: formats.TextSchema,
    example: 'https://login.example.com/',
    description:
      'OpenID provider whose JSON Web Tokens are also accepted (claim iss). Set JWT_ISSUER, JWT_AUDIENCE and JWT_JWKS_URL together.',
  },
  JWT_AUDIENCE: {
    format: formats.TextSchema,
    example: 'https://plants.example.com',
    description: 'Audience that its tokens must be for (claim aud).',
  },
  JWT_JWKS_URL: {
    format: formats.KeysUrlSchema,
    example: 'https://login.example.com/.well-known/jwks.json',
    description: 'Where it publishes its keys: an https URL, or http on this machine.',
  },
  MAX_CONNECTIONS: {
    format: formats.CountSchema,
    default: '20000',
    description:
      'Open connections, or what the limit of open files (nofile) leaves; more are closed immediately. An idle one takes about 10 kB.',
  },
  MAX_REQUESTS_IN_FLIGHT: {
    format: formats.CountSchema,
    default: '1000',
    description: 'Requests in flight; more get 503 with Retry-After.',
  },
  MAX_BODY_MEMORY: {
    format: formats.MemorySchema,
    unset: '64mb, or 4 times BODY_LIMIT if that is more',
    example: '64mb',
    description:
      'Memory for request bodies until they are parsed, 1mb to 16gb and at least BODY_LIMIT; above it, requests get 503.',
  },
  MAX_RESPONSE_MEMORY: {
    format: formats.MemorySchema,
    default: '64mb',
    description: 'Memory for responses waiting to be read, 1mb to 16gb; above it, requests for lists get 503.',
  },
  SHUTDOWN_TIMEOUT: {
    format: formats.TimeoutSchema,
    default: '10s',
    description: 'How long a shutdown (SIGTERM) may take; then requests in flight are aborted.',
  },
  SHUTDOWN_DELAY: {
    format: formats.TimeoutOrNoneSchema,
    default: '1s',
    description:
      'How much of SHUTDOWN_TIMEOUT the server keeps serving, with /readyz at 503, so that a load balancer notices.',
  },
  ADMIN_PORT: {
    format: formats.PortSchema,
    example: '3001',
    description: 'Private port with /livez, /readyz and /metrics.',
  },
  ADMIN_HOST: {
    format: formats.TextSchema,
    default: '127.0.0.1',
    description:
      'Address that the private port listens on. A request whose Host is neither an address, nor this value, nor a name without a dot or under .internal, .local or .localhost gets 403.',
  },
} as const satisfies Record<string, SettingEntry>
