/**
 * Prints how many tests passed and failed: "N passed, N failed".
 *
 * Usage: node .ci/summarize.mjs REPORT STATUS, with Vitest's report as JSON and the exit code of `npm test`
 */
import { readFileSync } from 'node:fs'

const [report, status] = process.argv.slice(2)
console.log(countTests())

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
