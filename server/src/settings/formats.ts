import { isIP } from 'node:net'
import { DatabaseError, databaseUrl } from '@plant-store/prisma'
import bytes from 'bytes'
import * as z from 'zod'
import type { RateLimit } from '../limits/rate-limit.ts'
import { parseDuration } from './duration.ts'

/**
 * The longest time of a setting. The timers of Node.js take 2^31 - 1 ms, 24.8 days, and fire immediately if given more;
 * what is left of the last day is room for what Node.js adds to a time.
 */
const MAX_TIME = '24d'
const MAX_COUNT = 999_999_999
const MAXIMUM_SIZE = 64 * 2 ** 20
const MINIMUM_MEMORY = 2 ** 20
const MAXIMUM_MEMORY = 16 * 2 ** 30

/** A setting whose text a function reads, or gives nothing where it is none. */
function readWith<T>(read: (text: string) => T | undefined, error: string) {
  return z.string().transform((text, context): T => {
    const value = read(text)
    if (value !== undefined) return value
    context.addIssue({ code: 'custom', message: error })
    return z.NEVER
  })
}

function parseCount(text: string): number | undefined {
  return /^[1-9]\d*$/.test(text) && Number(text) <= MAX_COUNT ? Number(text) : undefined
}

function isSubnet(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const family = isIP(address)
  if (family === 0 || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}

export const PortSchema = z
  .string()
  .refine((text) => /^\d{1,5}$/.test(text) && Number(text) <= 65_535, {
    error: 'must be a port number, 0 to 65535 (0: any free one)',
  })
  .transform(Number)

/** Gives an absolute `file:` URL, the default one where there is none. */
export const DatabaseUrlSchema = z
  .string()
  .optional()
  .transform((value, context): string => {
    try {
      return databaseUrl(value)
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error
      context.addIssue({ code: 'custom', message: error.message.replace(/^DATABASE_URL /, '') })
      return z.NEVER
    }
  })

/** Gives bytes. */
export const SizeSchema = z
  .string()
  .regex(/^\d+(?:\.\d+)?(?:b|kb|mb)$/i, { error: 'must be a size such as 512kb or 1mb' })
  .transform((size) => bytes.parse(size) ?? 0)
  .refine((size) => size >= 1 && size <= MAXIMUM_SIZE, { error: 'must be between 1b and 64mb' })

/** Gives bytes. */
export const MemorySchema = z
  .string()
  .regex(/^\d+(?:\.\d+)?(?:mb|gb)$/i, { error: 'must be a size such as 64mb or 1gb' })
  .transform((size) => bytes.parse(size) ?? 0)
  .refine((size) => size >= MINIMUM_MEMORY && size <= MAXIMUM_MEMORY, { error: 'must be between 1mb and 16gb' })

export const CountSchema = readWith(parseCount, `must be a whole number between 1 and ${MAX_COUNT}`)

/** Gives milliseconds. */
export const TimeoutSchema = readWith(
  (text) => parseDuration(text, MAX_TIME),
  `must be a time between 1ms and ${MAX_TIME}, such as 250ms, 30s or 5m`,
)

/** Gives milliseconds; 0 is allowed, and needs no unit. */
export const TimeoutOrNoneSchema = readWith(
  (text) => (text === '0' ? 0 : parseDuration(text, MAX_TIME)),
  `must be 0 or a time between 1ms and ${MAX_TIME}, such as 250ms, 30s or 5m`,
)

export const RateLimitSchema = readWith((text): RateLimit | undefined => {
  const [count = '', time = '', ...rest] = text.split('/')
  const requests = parseCount(count)
  const duration = parseDuration(time, MAX_TIME)
  if (requests === undefined || duration === undefined || duration < 1_000 || rest.length > 0) return undefined
  return { requests, seconds: duration / 1_000 }
}, `must be a number of requests between 1 and ${MAX_COUNT} and a time between 1s and ${MAX_TIME}, such as 100/1s or 6000/1m`)

export const OriginsSchema = readWith((text) => {
  const origins = text.split(',').map((origin) => origin.trim())
  return origins.every((origin) => URL.canParse(origin) && new URL(origin).origin === origin) ? origins : undefined
}, 'must be origins with commas between, such as https://app.example.com,http://localhost:5173; "*" is not taken')

export const TrustProxySchema = readWith((text) => {
  if (/^[1-9]\d?$/.test(text)) return Number(text)
  const subnets = text.split(',').map((subnet) => subnet.trim())
  return subnets.every(isSubnet) ? subnets : undefined
}, 'must be how many proxies a request passes, such as 1, or their addresses, such as 10.0.0.0/8,127.0.0.1')

/** Gives the URL without a trailing slash. */
export const PublicUrlSchema = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL, such as https://plants.example.com' })
  .refine((url) => !/[?#]/.test(url), { error: 'must not have a query or a fragment' })
  .transform((url) => url.replace(/\/+$/, ''))

export const KeysUrlSchema = readWith(
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
