import { type ErrorName, errorCodes, errorReasons } from '../generated/error-codes.ts'

/** A response of the fake, before a fault is applied. */
export interface FakeResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Creates a response with a JSON body and the headers that every response has. */
export function jsonResponse(status: number, body: unknown, headers: Record<string, string> = {}): FakeResponse {
  const type = { 'content-type': 'application/json; charset=utf-8' }
  return { status, headers: { ...type, ...commonHeaders(), ...headers }, body: writeExactly(body) }
}

/** Creates a response without content. */
export function emptyResponse(status = 204, headers: Record<string, string> = {}): FakeResponse {
  return { status, headers: { ...commonHeaders(), ...headers }, body: '' }
}

function commonHeaders(): Record<string, string> {
  return { 'cache-control': 'no-store', 'x-request-id': `fake-${Math.random().toString(36).slice(2)}` }
}

interface ErrorDetails {
  readonly message?: string
  readonly headers?: Record<string, string>
}

/** Creates an error response. The default message is the reason in the error catalogue. */
export function errorResponse(name: ErrorName, details: ErrorDetails = {}): FakeResponse {
  const { message = errorReasons[name], headers } = details
  const code = errorCodes[name]
  return jsonResponse(Math.floor(code / 100), { error: code, message }, headers)
}

/** Writes JSON. A bigint is an exact number, on which `JSON.stringify` throws. */
function writeExactly(value: unknown): string {
  if (typeof value === 'bigint') return String(value)
  if (Array.isArray(value)) return `[${value.map(writeExactly)}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${writeExactly(field)}`)}}`
}
