/**
 * Prints the tests that were skipped, and as its last line "N passed, N failed".
 *
 * Usage: node .ci/summarize.mjs REPORT STATUS, with Vitest's report as JSON and the exit code of `npm test`
 */
import { readFileSync } from 'node:fs'

const [report, status] = process.argv.slice(2)
console.log([...listSkipped(), countTests()].join('\n'))

function listSkipped() {
  const files = readReport()?.testResults ?? []
  const skipped = files.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status !== 'passed' && status !== 'failed')
      .map(({ fullName }) => `  ${name.slice(process.cwd().length + 1)}: ${fullName.trim()}`),
  )
  return skipped.length === 0 ? [] : [`${skipped.length} skipped:`, ...skipped]
}

function countTests() {
  const { numPassedTests = 0, numFailedTests = 0 } = readReport() ?? {}
  // A failure outside of the tests (set-up, lint, types, a file that does not load) counts as one too.
  return `${numPassedTests} passed, ${numFailedTests || Number(status !== '0')} failed`
}

/** Returns the report; nothing if what runs before the tests has failed. */
function readReport() {
  try {
    return JSON.parse(readFileSync(report, 'utf8'))
  } catch {
    return undefined
  }
}
