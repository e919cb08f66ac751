import { AbortError, type PlantStoreError } from '../errors.ts'
import { type Attempt, observe } from '../hooks.ts'
import { type CallResponse, type CallState, makeAttempt } from './attempt.ts'
import { type Call, withCall } from './call.ts'
import { startDeadline } from './deadline.ts'
import { retryDelay } from './retry.ts'

/**
 * Sends a call, with retries.
 *
 * @throws PlantStoreError of any kind
 */
export async function sendCall(call: Call): Promise<CallResponse> {
  const state: CallState = { retries: 0, token: undefined, tokenRejected: false }
  for (let number = 1; ; number++) {
    const attempt = createAttempt(call, number)
    try {
      return await makeAttempt(call, attempt, state)
    } catch (thrown) {
      const error = withCall(thrown, { method: attempt.method, url: call.url, attempts: number - 1 })
      const delay = nextDelay(call, state, error)
      observe(() => call.settings.hooks.error?.(attempt, error, delay))
      if (delay === undefined) throw error
      if (delay > 0) await wait(call, error, delay)
    }
  }
}

function createAttempt({ operation, route, url, body, headers: parameters, settings }: Call, number: number): Attempt {
  const headers = {
    accept: 'application/json',
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...parameters,
    ...settings.headers,
  }
  return { operation, method: route.method, url, number, headers }
}

/** Returns the delay before the next attempt in milliseconds; undefined if the call has failed. */
function nextDelay(
  { settings, route }: Call,
  state: CallState,
  error: PlantStoreError & { readonly status?: number },
): number | undefined {
  if (error.status === 401 && typeof settings.token === 'function' && !state.tokenRejected) {
    state.tokenRejected = true
    state.token = undefined
    return 0
  }
  return state.retries < settings.retries ? retryDelay(error, state.retries++, route.idempotent) : undefined
}

async function wait({ settings }: Call, error: PlantStoreError, delay: number): Promise<void> {
  observe(() => settings.logger?.warn(`${error.message}; retrying in ${Math.ceil(delay)} ms`))
  const deadline = startDeadline(delay, settings.signals)
  const ending = await deadline.reached
  deadline.dispose()
  if (ending !== 'timeout') {
    const { method = '', url = '', attempts } = error
    throw new AbortError(ending.reason, { method, url, attempts })
  }
}
