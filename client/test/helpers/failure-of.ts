import { expect } from 'vitest'
import { PlantStoreError } from '../../src/index.ts'

/** An error class of the SDK. */
type ErrorClass<T> = abstract new (...parameters: never[]) => T

/** Returns the error of a call that must fail with this class. */
export async function failureOf<T>(call: PromiseLike<unknown>, errorClass: ErrorClass<T>): Promise<T> {
  const error = await Promise.resolve(call).then(
    () => expect.fail('the call must fail'),
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(PlantStoreError)
  expect(error).toBeInstanceOf(errorClass)
  return error as T
}
