import { DriverAdapterError } from '@prisma/driver-adapter-utils'
import { DatabaseError } from '../../database-error.ts'

/** An error as it is sent to another process. */
export type PlainError = Pick<Error, 'name' | 'message' | 'cause'> & { code?: unknown }

/** Returns an error as it can be sent. */
export function toPlainError(error: unknown): PlainError {
  const { name, message, code, cause } = error as PlainError
  return { name, message, code, cause: name === 'DriverAdapterError' ? cause : String(cause) }
}

/** Returns the error that was sent. */
export function toError({ name, message, code, cause }: PlainError): Error {
  if (name === 'DriverAdapterError') return new DriverAdapterError(cause as DriverAdapterError['cause'])
  if (name === 'DatabaseError') return new DatabaseError(message, { cause: new Error(String(cause)) })
  return Object.assign(new Error(message), { name, code })
}
