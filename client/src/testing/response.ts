import { type ErrorName, errorCodes, errorReasons } from '../generated/error-codes.ts'
import type { FakeAnswer } from './fault.ts'

/** A failure that is answered as an `Error` body. */
export class Failure extends Error {
  readonly reason: ErrorName
  readonly headers: Readonly<Record<string, string>>

  constructor(reason: ErrorName, message: string = errorReasons[reason], headers: Record<string, string> = {}) {
    super(message)
    this.reason = reason
    this.headers = headers
  }

  get answer(): FakeAnswer {
    const code = errorCodes[this.reason]
    return answerJson(Math.floor(code / 100), { error: code, message: this.message }, this.headers)
  }
}

/** An answer with a JSON body, and with the headers that every answer has. */
export function answerJson(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): FakeAnswer {
  const common = {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'x-request-id': crypto.randomUUID(),
  }
  return { status, headers: { ...common, ...headers }, body: JSON.stringify(body) }
}
