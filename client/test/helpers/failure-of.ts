import { expect } from 'vitest'
import { PlantStoreError } from '../../src/index.ts'

/** Returns the error of a call that must fail with this class. */
export async function failureOf<T>(call: Promise<unknown>, errorClass: abstract new (...parameters: never[]) => T) {
  const error = await call.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(PlantStoreError)
  expect(error).toBeInstanceOf(errorClass)
  return error as T
}
