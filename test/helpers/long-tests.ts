/** Whether tests that take minutes run in full; otherwise they are shortened, or left out in vitest.config.ts. */
export const isLong = process.env['PLANT_STORE_LONG_TESTS'] === '1'

/** Whether the long tests run with those that take many minutes, as they do every night. */
export const isNightly = isLong && process.env['PLANT_STORE_NIGHTLY_TESTS'] === '1'

/**
 * Requires what tests are skipped without, where the long tests run in CI: skipped, they would look as if they had passed.
 *
 * @param name what is missing if it was not found, such as a program
 * @returns whether it was found, which it prints if not
 * @throws Error in CI, if it was not found
 */
export function requireInCi<T>(name: string, found: T): T {
  if (found) return found
  if (isLong && process.env['CI'] === 'true')
    throw new Error(`${name} is missing: in CI no test may be skipped for that. .ci/run installs what they need.`)
  console.log(`${name} is missing: what needs it is skipped.`)
  return found
}
