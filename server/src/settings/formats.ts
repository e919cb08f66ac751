import { DatabaseError, databaseUrl } from '@plant-store/prisma'
import bytes from 'bytes'
import * as z from 'zod'
import { parseDuration } from './duration.ts'

/**
 * The longest time. The timers of Node.js take 2^31 - 1 ms, 24.8 days, and fire immediately if given more; the rest of
 * the last day is room for what Node.js adds to a time.
 */
const MAX_TIME = '24d'
const MAX_COUNT = 999_999_999
const MEBIBYTE = 2 ** 20

/** A format that a function reads; it returns undefined for invalid text. */
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

/** Splits text at commas; undefined unless every part is valid. */
function parseList(text: string, isValid: (part: string) => boolean): string[] | undefined {
  const parts = text.split(',').map((part) => part.trim())
  return parts.every(isValid) ? parts : undefined
}

function parseSize(text: string, min: number, max: number): number | undefined {
  const size = bytes.parse(text) ?? 0
  return size >= min && size <= max ? size : undefined
}

export const TextSchema = z.string()

export const PortSchema = readWith(
  (text) => (/^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined),
  'must be a port number, 0 to 65535 (0: any free one)',
)

/** Reads an absolute or relative `file:` URL as an absolute one. */
export const DatabaseUrlSchema = z.string().transform((text, context): string => {
  try {
    return databaseUrl(text)
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error
    context.addIssue({ code: 'custom', message: error.message.replace(/^DATABASE_URL /, '') })
    return z.NEVER
  }
})

/** Reads bytes. */
export const SizeSchema = z
  .string()
  .regex(/^\d+(?:\.\d+)?(?:b|kb|mb)$/i, { error: 'must be a size such as 512kb or 1mb' })
  .pipe(readWith((text) => parseSize(text, 1, 64 * MEBIBYTE), 'must be between 1b and 64mb'))

/** Reads bytes. */
export const MemorySchema = z
  .string()
  .regex(/^\d+(?:\.\d+)?(?:mb|gb)$/i, { error: 'must be a size such as 64mb or 1gb' })
  .pipe(readWith((text) => parseSize(text, MEBIBYTE, 16 * 1024 * MEBIBYTE), 'must be between 1mb and 16gb'))

export const CountSchema = readWith(parseCount, `must be a whole number between 1 and ${MAX_COUNT}`)

/** Reads milliseconds. */
export const TimeoutSchema = readWith(
  (text) => parseDuration(text, MAX_TIME),
  `must be a time between 1ms and ${MAX_TIME}, such as 250ms, 30s or 5m`,
)

/** Reads milliseconds; 0 needs no unit. */
export const TimeoutOrNoneSchema = readWith(
  (text) => (text === '0' ? 0 : parseDuration(text, MAX_TIME)),
  `must be 0 or a time between 1ms and ${MAX_TIME}, such as 250ms, 30s or 5m`,
)

/** Reads how many requests in how many seconds. */
export const RateLimitSchema = readWith((text) => {
  const [count = '', time = '', ...rest] = text.split('/')
  const requests = parseCount(count)
  const duration = parseDuration(time, MAX_TIME)
  if (requests === undefined || duration === undefined || duration < 1_000 || rest.length > 0) return undefined
  return { requests, seconds: duration / 1_000 }
}, `must be a number of requests between 1 and ${MAX_COUNT} and a time between 1s and ${MAX_TIME}, such as 100/1s or 6000/1m`)

export const OriginsSchema = readWith(
  (text) => parseList(text, (origin) => URL.canParse(origin) && new URL(origin).origin === origin),
  'must be origins separated by commas, such as https://app.example.com,http://localhost:5173; "*" is not supported',
)

const SubnetSchema = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()])

/** Whether a text is an address or a subnet, such as Express trusts: also with a zone, or zeros before the prefix length. */
function isSubnet(text: string): boolean {
  return SubnetSchema.safeParse(text.replace(/(?<=:.*)%[^/]+/, '').replace(/\/0+(?=\d)/, '/')).success
}

/** Reads the number of proxies in front of the server, or their addresses. */
export const TrustProxySchema = readWith(
  (text) => (/^[1-9]\d?$/.test(text) ? Number(text) : parseList(text, isSubnet)),
  'must be the number of proxies in front of the server, such as 1, or their addresses, such as 10.0.0.0/8,127.0.0.1',
)

/** Reads a URL without its trailing slashes. */
export const PublicUrlSchema = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL, such as https://plants.example.com' })
  .refine((url) => !/[?#]/.test(url), { error: 'must not have a query or a fragment' })
  .transform((url) => url.replace(/\/+$/, ''))

export const KeysUrlSchema = readWith(
  (text) => (isSafeUrl(text) ? text : undefined),
  'must be an https URL without a user name, such as https://login.example.com/jwks.json; http only on this machine',
)

/** Whether what is fetched from a URL cannot be changed on its way. */
function isSafeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, username, password } = new URL(text)
  if (username !== '' || password !== '') return false
  return protocol === 'https:' || (protocol === 'http:' && /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname))
}
