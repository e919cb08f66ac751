const { CI, PLANT_STORE_LONG_TESTS, PLANT_STORE_NIGHTLY_TESTS } = process.env

/** Whether all tests run, and as long as in .ci/nightly. */
export const isNightly = PLANT_STORE_NIGHTLY_TESTS === 'all'

/** Whether tests that take minutes run in full; otherwise they are shortened, or left out in vitest.config.ts. */
export const isLong = isNightly || PLANT_STORE_LONG_TESTS === '1'

/**
 * Returns how often to check a property: with the long tests as often as takes a second or two, in .ci/nightly ten times that.
 * While somebody waits, it is a tenth: with other values each time, the runs of a day check as much.
 */
export function runs(count: number): number {
  if (isNightly) return 10 * count
  return isLong ? count : Math.ceil(count / 10)
}

/** Returns those of the nightly tests that do not run: .ci/run names the others. */
export function leftOutOf(nightly: readonly string[]): string[] {
  if (isNightly) return []
  const chosen = (PLANT_STORE_NIGHTLY_TESTS ?? '').split(' ')
  return nightly.filter((file) => !chosen.includes(file))
}

/**
 * Requires what tests are skipped without, where the long tests run in CI: skipped, they would look as if they had passed.
 *
 * @param name what is missing if it was not found, such as a program
 * @returns whether it was found, which it prints if not
 * @throws Error in CI, if it was not found
 */
export function requireInCi<T>(name: string, found: T): T {
  if (found) return found
  if (isLong && CI === 'true')
    throw new Error(`${name} is missing: in CI no test may be skipped for that. .ci/run installs what they need.`)
  console.log(`${name} is missing: what needs it is skipped.`)
  return found
}

/** Tries what a test needs, and returns and prints why it fails, in a line; undefined if it works. */
export function whyImpossible(what: string, attempt: () => unknown): string | undefined {
  try {
    attempt()
    return undefined
  } catch (error) {
    const reason = (error as Error).message.trim().split('\n').at(-1)
    console.log(`${what} is impossible here, and not tested: ${reason}`)
    return reason
  }
}
