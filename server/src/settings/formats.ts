import { DatabaseError, databaseUrl } from '@plant-store/prisma'
import bytes from 'bytes'
import * as z from 'zod'

/**
 * The longest time. The timers of Node.js take 2^31 - 1 ms, 24.8 days, and fire immediately if given more; the rest of
 * the last day is room for what Node.js adds to a time.
 */
const MAX_TIME = '24d'
const MAX_COUNT = 999_999_999
const TIME_EXAMPLES = `a time between 1ms and ${MAX_TIME}, such as 250ms, 30s or 5m`
const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const DURATION = /^([1-9]\d{0,14})(ms|s|m|h|d)$/

/**
 * Reads a duration such as `250ms`, `30s`, `15m`, `12h` or `90d` as milliseconds.
 *
 * @param max the longest duration, in the same format
 * @returns undefined if the text is not a duration, or is longer
 */
export function parseDuration(text: string, max: string = MAX_TIME): number | undefined {
  const duration = toMilliseconds(text)
  return duration <= toMilliseconds(max) ? duration : undefined
}

/** Returns NaN, with which every comparison is false, if the text is not a duration. */
function toMilliseconds(text: string): number {
  const [, count, unit] = DURATION.exec(text) ?? []
  return Number(count) * UNITS[unit as keyof typeof UNITS]
}

/** A format that a function reads; it returns undefined for invalid text. */
function format<T>(read: (text: string) => T | undefined, mistake: string) {
  return z.string().transform((text, context): T => {
    const value = read(text)
    if (value !== undefined) return value
    context.addIssue({ code: 'custom', message: mistake })
    return z.NEVER
  })
}

/** Reads bytes. */
function size(units: string, example: string, min: string, max: string) {
  const shape = new RegExp(`^\\d+(?:\\.\\d+)?(?:${units})$`, 'i')
  const range = [min, max].map((text) => bytes.parse(text) ?? 0) as [number, number]
  const read = (text: string) => {
    const count = bytes.parse(text) ?? 0
    return count >= range[0] && count <= range[1] ? count : undefined
  }
  return z
    .string()
    .regex(shape, { error: `must be a size such as ${example}` })
    .pipe(format(read, `must be between ${min} and ${max}`))
}

function parseCount(text: string): number | undefined {
  return /^[1-9]\d*$/.test(text) && Number(text) <= MAX_COUNT ? Number(text) : undefined
}

/** Splits text at commas; undefined unless every part is valid. */
function parseList(text: string, isValid: (part: string) => boolean): string[] | undefined {
  const parts = text.split(',').map((part) => part.trim())
  return parts.every(isValid) ? parts : undefined
}

export const TextSchema = z.string()
export const SizeSchema = size('b|kb|mb', '512kb or 1mb', '1b', '64mb')
export const MemorySchema = size('mb|gb', '64mb or 1gb', '1mb', '16gb')
export const CountSchema = format(parseCount, `must be a whole number between 1 and ${MAX_COUNT}`)
/** Reads milliseconds. */
export const TimeoutSchema = format((text) => parseDuration(text), `must be ${TIME_EXAMPLES}`)
/** Reads milliseconds; 0 needs no unit. */
export const TimeoutOrNoneSchema = format(
  (text) => (text === '0' ? 0 : parseDuration(text)),
  `must be 0 or ${TIME_EXAMPLES}`,
)
export const OnOffSchema = z.enum(['on', 'off'], { error: 'must be on or off' }).transform((value) => value === 'on')

export const PortSchema = format(
  (text) => (/^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined),
  'must be a port number, 0 to 65535 (0: any free one)',
)

/** Reads how many requests in how many seconds. */
export const RateLimitSchema = format((text) => {
  const [count = '', time = '', ...rest] = text.split('/')
  const requests = parseCount(count)
  const duration = parseDuration(time)
  if (requests === undefined || duration === undefined || duration < 1_000 || rest.length > 0) return undefined
  return { requests, seconds: duration / 1_000 }
}, `must be a number of requests between 1 and ${MAX_COUNT} and a time between 1s and ${MAX_TIME}, such as 100/1s or 6000/1m`)

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

const ORIGINS =
  'must be origins separated by commas, such as https://app.example.com,capacitor://localhost; "*" and "null", which any site can send, are not supported'

/** Reads origins of any scheme, each as browsers send it in the header `Origin`. */
export const OriginsSchema = z.string().transform((text, context): string[] => {
  const origins = text.split(',').map((part) => part.trim())
  const mistakes = new Set(origins.flatMap((origin) => findOriginMistake(origin) ?? []))
  for (const message of mistakes) context.addIssue({ code: 'custom', message })
  return origins
})

function findOriginMistake(text: string): string | undefined {
  if (!/^[a-z][a-z\d+.-]*:\/\/[^*]*$/i.test(text) || !URL.canParse(text)) return ORIGINS
  const url = new URL(text)
  // `URL` has the origin "null" for schemes that it does not know.
  const origin = url.origin === 'null' ? `${url.protocol}//${url.host}`.toLowerCase() : url.origin
  if (text === origin) return undefined
  if (!text.startsWith(origin)) return `must have an origin as browsers send it: "${origin}"`
  const rest = text.slice(origin.length)
  return `must have "${origin}" without "${rest}", since browsers send no path, query or default port: cut it`
}

const SubnetSchema = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()])

/** Whether a text is an address or a subnet, such as Express trusts: also with a zone, or zeros before the prefix length. */
function isSubnet(text: string): boolean {
  return SubnetSchema.safeParse(text.replace(/(?<=:.*)%[^/]+/, '').replace(/\/0+(?=\d)/, '/')).success
}

/** Reads the number of proxies in front of the server, or their addresses. */
export const TrustProxySchema = format(
  (text) => (/^[1-9]\d?$/.test(text) ? Number(text) : parseList(text, isSubnet)),
  'must be the number of proxies in front of the server, such as 1, or their addresses, such as 10.0.0.0/8,127.0.0.1',
)

/** Reads a URL without its trailing slashes, as it stands in the header Link and in the OpenAPI document. */
export const PublicUrlSchema = z
  .string()
  .regex(/^[^?#]*$/, { error: 'must not have a query or a fragment' })
  .regex(/^(?!\w+:\/\/[^/]*@)/, { error: 'must not have a user name or a password' })
  .pipe(
    format((text) => {
      // The characters of RFC 3986.
      const isUrl = /^https?:\/\/(?!\/)(?:[\w.~:/[\]@!$&'()*+,;=-]|%[\da-f]{2})+$/i.test(text) && URL.canParse(text)
      return isUrl ? new URL(text).href.replace(/(?<!\/)\/+$/, '') : undefined
    }, 'must be an http or https URL, such as https://plants.example.com'),
  )

export const KeysUrlSchema = format(
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
