/**
 * Releases the public packages: RELEASING.md describes it.
 *
 * Usage: npm run release -- [--dry-run] [--tested]
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { addRelease } from './changelog.mjs'
import { packPackages } from './pack.mjs'
import { findUnpublished, publishPackage } from './publish.mjs'
import { ReleaseError, root, run } from './run.mjs'
import { verifyPackage } from './verify.mjs'

const CACHE = path.join(root, 'node_modules/.cache/release')

try {
  const { values } = parseArgs({ options: { 'dry-run': { type: 'boolean' }, tested: { type: 'boolean' } } })
  await release({ isDryRun: values['dry-run'] ?? false, isTested: values.tested ?? false })
} catch (error) {
  if (!(error instanceof ReleaseError) && !error.code?.startsWith('ERR_PARSE_ARGS')) throw error
  console.error(`\n${error.message}`)
  process.exitCode = 1
}

/** Does every step. A dry run changes nothing: neither the working tree, nor git, nor the registry. */
async function release({ isDryRun, isTested }) {
  step('Checking that main is clean and up to date')
  checkRepository()
  run('npm', ['run', '--silent', 'setup'], { show: true })
  if (!isTested) {
    step('Running the tests')
    runTests()
  }
  try {
    step('Setting the version and the changelog')
    const version = setVersion()
    step(`Packing and verifying ${version}`)
    const packages = findUnpublished(packPackages(path.join(CACHE, version)))
    packages.forEach(verifyPackage)
    checkTag(`v${version}`)
    if (!isDryRun) record(version)
    step(isDryRun ? 'Trying to publish' : 'Publishing')
    for (const each of packages) publishPackage(each, { isDryRun })
  } finally {
    // A failure before the commit leaves main as it was, so that the next run starts from the same place.
    run('git', ['restore', '--staged', '--worktree', '.'])
  }
}

function runTests() {
  try {
    run('npm', ['test'], { show: true })
  } catch {
    throw new ReleaseError(
      'A test failed: nothing was released. Fix what is named above, or pass --tested for a commit that CI has tested.',
    )
  }
}

function step(text) {
  console.log(`\n${text} ...`)
}

function checkRepository() {
  const branch = run('git', ['rev-parse', '--abbrev-ref', 'HEAD'])
  if (branch !== 'main') throw new ReleaseError(`This is the branch ${branch}: releases are made from main.`)
  const changed = run('git', ['status', '--porcelain'])
  if (changed) throw new ReleaseError(`Commit or remove these changes first:\n${changed}`)
  run('git', ['fetch', '--quiet', '--tags', 'origin', 'main'])
  if (run('git', ['rev-parse', 'HEAD']) !== run('git', ['rev-parse', 'FETCH_HEAD'])) {
    throw new ReleaseError('main differs from origin/main: run `git pull --rebase` or `git push` first.')
  }
}

/** Turns the changesets into a version and lines of CHANGELOG.md. Without changesets the version is kept. */
function setVersion() {
  const changesets = readChangesets()
  if (changesets.length > 0) runChangeset('version')
  const { version } = JSON.parse(readFileSync(path.join(root, 'client/package.json'), 'utf8'))
  // The SDK sends its version, and reads no file.
  edit('client/src/wire/request.ts', (text) => text.replace(/^(const VERSION = ).*$/m, `$1'${version}'`))
  const date = new Date().toISOString().slice(0, 'yyyy-mm-dd'.length)
  edit('CHANGELOG.md', (text) => addRelease(text, { version, date, changesets }))
  return version
}

function edit(name, change) {
  const file = path.join(root, name)
  writeFileSync(file, change(readFileSync(file, 'utf8')))
}

function readChangesets() {
  const file = path.join(CACHE, 'changesets.json')
  mkdirSync(CACHE, { recursive: true })
  // Relative to the root, and of a release before this one if it is not written.
  rmSync(file, { force: true })
  runChangeset('status', '--output', path.relative(root, file))
  return JSON.parse(readFileSync(file, 'utf8')).changesets
}

function runChangeset(...parameters) {
  run(path.join(root, 'node_modules/.bin/changeset'), parameters)
}

/** Rejects the version of a tag that origin has on another commit: what is published would not be what it names. */
function checkTag(tag) {
  const [tagged] = run('git', ['ls-remote', 'origin', `refs/tags/${tag}^{}`]).split('\t')
  if (!tagged || (tagged === run('git', ['rev-parse', 'HEAD']) && !hasChanges())) return
  throw new ReleaseError(
    `${tag} is another commit than main: ${tagged}. Describe what has changed with \`npm run changeset\`.`,
  )
}

/** Commits, tags and pushes the version. Nothing is left to do if an earlier run did and failed to publish. */
function record(version) {
  const tag = `v${version}`
  if (hasChanges()) {
    run('git', ['add', '--all'])
    run('git', ['commit', '--quiet', '--message', `chore: release ${version}`])
  }
  // A run whose push was rejected may have left the tag on a commit that is not that of main any more.
  const tagged = run('git', ['tag', '--list', '--format=%(*objectname)', tag])
  if (tagged !== run('git', ['rev-parse', 'HEAD'])) run('git', ['tag', '--force', '--annotate', tag, '--message', tag])
  run('git', ['push', '--quiet', '--atomic', 'origin', 'main', tag])
}

function hasChanges() {
  return run('git', ['status', '--porcelain']) !== ''
}
