/**
 * Chooses the tests of .ci/nightly.json that .ci/run runs: those that cover a file that has changed since the commit in
 * .ci/nightly-passed, on which all of them passed. Prints them, and as an error what is left out and why. It runs on Node.js 18.
 *
 * Usage: node .ci/choose.mjs, at the root of the repository
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

const { all, tests } = JSON.parse(readFileSync('.ci/nightly.json', 'utf8'))
const record = '.ci/nightly-passed'
const passed = existsSync(record) ? readFileSync(record, 'utf8').trim() : ''
// A path that does not exist, which never changes, is an error.
git('ls-files', '--error-unmatch', '--', ...Object.entries(tests).flat(2), ...all)

if (isCommit(passed)) {
  console.error(`Of the nightly tests, which passed on ${passed}:`)
  const changed = listChanged()
  console.log(
    Object.keys(tests)
      .filter((test) => isChosen(test, changed))
      .join(' '),
  )
} else {
  console.error(`All nightly tests run: ${record} has no commit that this clone has.`)
  console.log(Object.keys(tests).join(' '))
}

/** Whether this clone has a commit: one without its history lacks it. */
function isCommit(name) {
  try {
    git('cat-file', '-e', `${name}^{commit}`)
    return true
  } catch {
    return false
  }
}

/** Lists what has changed, committed or not, and new files. */
function listChanged() {
  const changed = git('diff', '--name-only', '--no-renames', passed)
  return `${changed}${git('ls-files', '--others', '--exclude-standard')}`.trim().split('\n')
}

/** Whether a test runs, which is said with the reason. */
function isChosen(test, changed) {
  const paths = [test, ...tests[test], ...all]
  // A path covers a file, or all of a folder, as git has it: `*` stands for a slash too.
  const patterns = paths.map((covered) => covered.replaceAll('.', '\\.').replaceAll('*', '.*'))
  const covers = new RegExp(`^(${patterns.join('|')})(/|$)`)
  const file = changed.find((each) => covers.test(each))
  console.error(
    file ? `  ${test} runs: ${file} has changed` : `  ${test} is left out: no change of ${paths.join(', ')}`,
  )
  return Boolean(file)
}

function git(...parameters) {
  return execFileSync('git', parameters, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}
