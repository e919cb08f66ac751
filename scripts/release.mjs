/**
 * Releases the public packages, as RELEASING.md describes.
 *
 * - `npm run release -- --version`: turns the changesets into versions and changelogs
 * - `npm run release`: tests, packs and publishes what the registry lacks; `--tested` leaves out the tests, `--dry-run`
 *   uploads nothing, `--from FOLDER` publishes what was packed before and needs no installed packages
 * - `npm run pack -- FOLDER`: packs and verifies, nothing else
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { fail, root, run, start } from './run.mjs'

/** The public packages, each after those that it depends on. */
const publicPackages = ['contract', 'prisma', 'server', 'client']
/** npm runs scripts at the root of the repository and says here where it was called. */
const calledFrom = process.env['INIT_CWD'] ?? '.'
/** Only a workflow of GitHub with the permission `id-token: write` can prove where a package comes from. */
const hasOrigin = process.env['ACTIONS_ID_TOKEN_REQUEST_URL'] !== undefined

const flags = { version: { type: 'boolean' }, tested: { type: 'boolean' }, 'dry-run': { type: 'boolean' } }
const values = readOptions()
if (values.version) setVersions()
else if (values.pack !== undefined) console.log(packPackages(path.resolve(calledFrom, values.pack)).join('\n'))
else release(values)

function readOptions() {
  try {
    return parseArgs({ options: { ...flags, pack: { type: 'string' }, from: { type: 'string' } } }).values
  } catch (error) {
    return fail(error.message)
  }
}

/**
 * Each package has its own version, in its package.json, CHANGELOG.md and, of the SDK and the contract, in its code. The
 * document of the contract is kept: the next release is compared with it.
 */
function setVersions() {
  run('npm', ['run', '--silent', 'setup'], 'inherit')
  run(path.join(root, 'node_modules/.bin/changeset'), ['version'], 'inherit')
  for (const name of ['client', 'contract']) {
    const { version } = JSON.parse(readFileSync(`${root}${name}/package.json`, 'utf8'))
    const file = root + run('git', ['grep', '--files-with-matches', "^const VERSION = '", '--', `${name}/src`])
    writeFileSync(file, readFileSync(file, 'utf8').replace(/^(const VERSION = )'.*'$/m, `$1'${version}'`))
  }
  const print = `import { createOpenApiDocument } from '@plant-store/contract/openapi'
    console.log(JSON.stringify(createOpenApiDocument(), null, 2))`
  const document = run('node', ['--conditions=@plant-store/source', '--input-type=module', '--eval', print])
  writeFileSync(`${root}contract/released.json`, `${document}\n`)
}

function release({ tested = false, 'dry-run': isDryRun = false, from }) {
  checkRepository()
  if (!tested && from === undefined) run('npm', ['test'], 'inherit')
  const folder = from === undefined ? `${root}node_modules/.cache/release` : path.resolve(calledFrom, from)
  if (from === undefined) {
    rmSync(folder, { recursive: true, force: true })
    packPackages(folder)
  }
  const packages = publicPackages.map((name) => readPackage(folder, name))
  const unpublished = packages.filter((each) => !isPublished(each))
  if (unpublished.length === 0) fail('Nothing to release: every version is published.')
  for (const { tag } of unpublished) checkTag(tag)
  for (const { tag, tarball, notes } of unpublished) {
    if (!isDryRun) run('git', ['push', '--quiet', 'origin', `HEAD:refs/tags/${tag}`])
    const options = [...(hasOrigin ? ['--provenance'] : []), ...(isDryRun ? ['--dry-run'] : [])]
    // npm may ask on the terminal for a one-time password.
    run('npm', ['publish', tarball, '--access', 'public', ...options], 'inherit')
    console.log(`${isDryRun ? 'Would publish' : 'Published'} ${tag}`)
    if (!isDryRun && process.env['GH_TOKEN']) run('gh', ['release', 'create', tag, '--title', tag, '--notes', notes])
  }
}

/** What is published is a commit of main, whose changes are all in a changelog. */
function checkRepository() {
  const changed = run('git', ['status', '--porcelain'])
  if (changed) fail(`Commit or remove these changes first:\n${changed}`)
  run('git', ['fetch', '--quiet', '--tags', '--force', 'origin', 'main'])
  const unmerged = run('git', ['rev-list', 'HEAD', '^FETCH_HEAD'])
  if (unmerged) fail('This commit is not on main of origin: merge or push it first.')
  const changesets = readdirSync(`${root}.changeset`).filter((name) => name.endsWith('.md'))
  if (changesets.length === 0) return
  fail(`Run \`npm run release -- --version\` and commit first: ${changesets.join(', ')} waits.`)
}

/** Builds, packs and verifies the public packages. Returns the tarballs. */
function packPackages(folder) {
  if (existsSync(folder) && readdirSync(folder).length > 0) fail(`${folder} is not empty. Name a new folder.`)
  mkdirSync(folder, { recursive: true })
  run('npm', ['run', '--silent', 'setup'], 'inherit')
  // The server does not need the SDK, so the set-up does not build it.
  run('npm', ['--prefix', 'client', 'run', '--silent', 'build'])
  const filters = publicPackages.flatMap((name) => ['--filter', `@plant-store/${name}`])
  run('node', ['scripts/pnpm.mjs', ...filters, 'pack', '--out', path.join(folder, '%s.tgz')])
  return publicPackages.map((name) => {
    const tarball = path.join(folder, `plant-store-${name}.tgz`)
    run(`${root}node_modules/.bin/publint`, ['run', tarball, '--strict'])
    // The SDK works with require too; the others are for Node.js versions that import.
    const profile = name === 'client' ? [] : ['--profile', 'esm-only']
    run(`${root}node_modules/.bin/attw`, [tarball, '--no-color', ...profile])
    return tarball
  })
}

/** Reads what a release needs of a packed package; its notes are the newest section of its changelog. */
function readPackage(parent, folder) {
  const tarball = path.join(parent, `plant-store-${folder}.tgz`)
  if (!existsSync(tarball)) fail(`${tarball} is missing: pack all packages first.`)
  const read = (file) => run('tar', ['-xzOf', tarball, `package/${file}`])
  const { name, version } = JSON.parse(read('package.json'))
  const [, notes = ''] = read('CHANGELOG.md').split(/^## .*\n+/m)
  return { tarball, folder, name, version, tag: `${name}@${version}`, notes }
}

/** Whether the registry has a package, so that a release that failed midway can be run again. */
function isPublished({ name, folder, version, tag }) {
  const { status, stderr } = start('npm', ['view', `${name}@${version}`, 'version'])
  if (status !== 0 && !stderr.includes('E404')) fail(`npm view failed.\n${stderr}`)
  if (status !== 0) return false
  const paths = ['src', 'migrations', 'postgresql/migrations'].map((each) => `${folder}/${each}`)
  const changed = run('git', ['diff', '--name-only', `refs/tags/${tag}`, 'HEAD', '--', ...paths])
  if (!changed) return true
  fail(`${tag} is published, and has changed. Run \`npm run changeset\` for:\n${changed}`)
}

/** Rejects a tag that origin has on another commit: what is published would not be what it names. */
function checkTag(tag) {
  const [tagged] = run('git', ['ls-remote', 'origin', `refs/tags/${tag}`]).split('\t')
  if (!tagged || tagged === run('git', ['rev-parse', 'HEAD'])) return
  fail(`The tag ${tag} is another commit: ${tagged}. Describe the change with \`npm run changeset\`.`)
}
