import type { PlantStoreError, ResponseHead } from './errors.ts'
import type { OperationName } from './generated/routes.ts'
import { isObject, isPlain, reject, requireKnown } from './wire/write.ts'

/** One request of a call. All hooks of an attempt get the same object, so it can be the key of a map. */
export interface Attempt {
  readonly operation: OperationName
  /** The method, such as `POST`. */
  readonly method: string
  /** The complete URL. */
  readonly url: string
  /** 1 for the first attempt of a call, 2 for the next. */
  readonly number: number
  /** The request headers, names in lower case, without `authorization`. The `request` hook may add some. */
  readonly headers: Record<string, string>
}

/** The response of an attempt, for the `response` hook. */
export interface AttemptResponse extends ResponseHead {
  /** The time from the start of the attempt to the end of the response, in milliseconds. */
  readonly duration: number
}

/**
 * Functions that are called for each attempt: for logs, metrics and traces.
 *
 * @example
 * const client = createPlantStoreClient({
 *   hooks: {
 *     request: (attempt) => { attempt.headers.traceparent = currentTrace() },
 *     response: (attempt, { status, duration }) => histogram.record(duration, { operation: attempt.operation, status }),
 *   },
 * })
 */
export interface Hooks {
  /**
   * Runs before a request is sent, and may be async. If it throws, nothing is sent and the call fails. It may add the header
   * `authorization` only with `token: false`.
   */
  request?: ((attempt: Attempt) => unknown) | undefined
  /** Runs after a complete response, of any status. Its errors are ignored. */
  response?: ((attempt: Attempt, response: AttemptResponse) => unknown) | undefined
  /**
   * Runs after a failed attempt: no response, or an error response. `retryDelay` is the delay before the next attempt in
   * milliseconds, undefined if there is none. Its errors are ignored.
   */
  error?: ((attempt: Attempt, error: PlantStoreError, retryDelay: number | undefined) => unknown) | undefined
}

/** What is logged: `warn` each retry, `info` also each response, `debug` also each request, `off` nothing. */
export type LogLevel = (typeof LOG_LEVELS)[number]

/** A logger such as `console`, pino or winston. It needs the functions of its level. */
export interface Logger {
  warn(line: string): void
  info(line: string): void
  debug(line: string): void
}

export const LOG_LEVELS = ['off', 'warn', 'info', 'debug'] as const

/**
 * Creates the hooks that log.
 *
 * @throws UsageError if the logger lacks a function of the level
 */
export function logHooks(logger: Logger = console, logLevel: LogLevel): Hooks[] {
  const level = LOG_LEVELS.indexOf(logLevel)
  const name = LOG_LEVELS.slice(1, level + 1).find((each) => !Object(logger)[each])
  if (name) reject(`logger.${name}`, 'must be a function')
  const request: Hooks['request'] = ({ method, url, number }) =>
    observe(() => logger.debug(`${method} ${url}: attempt ${number}`))
  const response: Hooks['response'] = ({ method, url }, { status, duration, requestId = '-' }) =>
    logger.info(`${method} ${url}: ${status} in ${duration.toFixed(1)} ms, request ${requestId}`)
  const error: Hooks['error'] = (_, { message }, delay) =>
    delay && logger.warn(`${message}; retrying in ${Math.ceil(delay)} ms`)
  return [{ error }, { response }, { request }].slice(0, level)
}

const HOOKS = ['request', 'response', 'error'] as const

/**
 * Lists hooks. An instance of a class may have other fields.
 *
 * @throws UsageError if a hook is unknown or not a function
 */
export function listHooks(hooks: Hooks | readonly (Hooks | undefined)[]): readonly Hooks[] {
  const list = ([hooks].flat() as readonly (Hooks | undefined)[]).filter((each) => each !== undefined)
  for (const each of list) {
    if (!isObject(each) || isPlain(each)) requireKnown(each, HOOKS, 'hooks', 'hooks.')
    for (const name of HOOKS)
      if (typeof (each[name] ?? reject) !== 'function') reject(`hooks.${name}`, 'must be a function')
  }
  return list
}

/** Runs a callback that only observes a call: its errors are ignored. */
export function observe(callback: () => unknown): void {
  // A broken logger must not fail a call that succeeded.
  void (async () => callback())().catch(() => undefined)
}
