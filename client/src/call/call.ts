import { AbortError, type FailedCall, PlantStoreError, RequestError } from '../errors.ts'
import type { OperationName } from '../generated/operations.ts'
import { routes } from '../generated/routes.ts'
import { type Attempt, observe } from '../hooks.ts'
import { type CallOptions, readCallOptions, type Settings } from '../options.ts'
import { type Input, writeBody, writePath } from '../wire/request.ts'
import { type Call, makeAttempt, type Success } from './attempt.ts'
import { startClock } from './deadline.ts'
import { retryDelay } from './retry.ts'

/** What a caller asks for. */
export interface Question {
  readonly operation: OperationName
  readonly input: Input
  readonly options: CallOptions | undefined
  /** Where to send it, if not where the operation says: the next page. */
  readonly url?: string
}

/** An answer and what it took to get it. */
export interface Sent extends Success {
  readonly method: string
  readonly url: string
  readonly attempts: number
}

/**
 * Calls an operation, with as many attempts as it takes and the settings allow.
 *
 * @throws PlantStoreError of any kind
 */
export async function send(question: Question, client: Settings): Promise<Sent> {
  const call = prepare(question, client)
  for (let number = 1, retries = 0; ; number++) {
    const attempt = describeAttempt(call, number)
    try {
      const { method, url } = attempt
      return { ...(await makeAttempt(call, attempt)), method, url, attempts: number }
    } catch (thrown) {
      const error = located(thrown, { method: attempt.method, url: call.url, attempts: number - 1 })
      const repetition = nextAttempt(call, error, retries)
      observe(() => call.settings.hooks.error?.(attempt, error, repetition?.delay))
      if (!repetition) throw error
      retries = repetition.retries
      if (repetition.delay > 0) await wait(call, error, repetition.delay)
    }
  }
}

function prepare({ operation, input, options, url }: Question, client: Settings): Call {
  const route = routes[operation]
  try {
    const settings = options == null ? client : readCallOptions(options, client)
    const target = url ?? client.baseUrl + writePath(route, input)
    return { operation, route, settings, url: target, body: writeBody(route, input), tokenRefused: false }
  } catch (error) {
    throw located(error, { method: route.method, url: client.baseUrl + route.path, attempts: 0 })
  }
}

function describeAttempt({ operation, route, url, body, settings }: Call, number: number): Attempt {
  const headers = {
    accept: 'application/json',
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...settings.headers,
  }
  return { operation, method: route.method, url, number, headers }
}

/** Whether and when an attempt is repeated: at once with another token, or later what may pass. */
function nextAttempt(
  call: Call,
  error: PlantStoreError & { readonly status?: number },
  retries: number,
): { delay: number; retries: number } | undefined {
  if (error.status === 401 && typeof call.settings.token === 'function' && !call.tokenRefused) {
    call.tokenRefused = true
    call.token = undefined
    return { delay: 0, retries }
  }
  const delay = retries < call.settings.retries ? retryDelay(error, retries) : undefined
  return delay === undefined ? undefined : { delay, retries: retries + 1 }
}

async function wait({ settings }: Call, error: PlantStoreError, delay: number): Promise<void> {
  observe(() => settings.logger?.warn(`${error.message}; next attempt in ${Math.ceil(delay)} ms`))
  const clock = startClock(delay, settings.signals)
  const ending = await clock.ended
  clock.dispose()
  if (ending !== 'time') {
    const { method = '', url = '', attempts } = error
    throw new AbortError(ending.reason, { method, url, attempts })
  }
}

/** An error that says which call it belongs to. */
function located(error: unknown, call: FailedCall): PlantStoreError {
  if (error instanceof PlantStoreError && error.url !== undefined) return error
  const { message, cause } = error instanceof Error ? error : new Error(String(error))
  return new RequestError(message, call, cause === undefined ? undefined : { cause })
}
