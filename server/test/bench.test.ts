/** Runs each kind of scenario of the benchmark briefly, to see that it works: its figures mean nothing. */
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { isInstalled } from '../../test/helpers/production/guide.ts'
// The benchmark runs what is built.
import '../../test/helpers/server/built.ts'
import { stopPostgresql } from '../bench/database.ts'
import { againstRelease } from '../bench/last-release.ts'
import { BRIEF } from '../bench/rounds.ts'
import { scenarios } from '../bench/scenarios.ts'

/** Those that differ from one of these only in its figures are not run. */
const kinds = Object.entries({
  ...scenarios,
  'memory of two releases': againstRelease(fileURLToPath(new URL('../../', import.meta.url))).memory,
}).filter(
  ([name]) => !/-2000|list-cpu|alternating|latency|-100|fast-disk|postgresql-(?!create|list-million)/.test(name),
)
const missing = ['sqlite3', 'psql', 'cc'].filter((program) => !isInstalled(program))
afterAll(stopPostgresql)

// Memory and CPU time are those of Linux.
describe.skipIf(process.platform !== 'linux' || missing.length > 0)('a brief run of the benchmark', () => {
  test.each(kinds)('measures %s', async (_, scenario) => {
    const rows = await scenario(() => {}, BRIEF)
    expect(rows.length).toBeGreaterThan(0)
    for (const { what, value } of rows) expect(Number(value), what).not.toBeNaN()
  })
})
