/** A release to a registry on this machine, and what apps and operators then install from it. */
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bareMachine, TRUST } from './helpers/bare-machine.ts'
import { INSTALL_TIMEOUT } from './helpers/install-tools.ts'
import { noteAbsence } from './helpers/runtimes.ts'
import { startProgram } from './helpers/start-program.ts'
import { temporaryFolder } from './helpers/temporary-folder.ts'
import { type Registry, startRegistry } from './registry/start-registry.ts'

const execute = promisify(execFile)
const root = fileURLToPath(new URL('../', import.meta.url))
const TIMEOUT = 300_000
const names = ['contract', 'prisma', 'server', 'client']

const folder = temporaryFolder()
const clone = path.join(folder, 'plant-store')
const packed = path.join(clone, 'node_modules/.cache/release')
let registry: Registry

/** Runs a program with a newcomer's environment. Returns all that it printed. */
async function run(program: string, parameters: string[], cwd: string, settings: Record<string, string> = {}) {
  const { PATH = '', HOME = '' } = process.env
  const env = { PATH, HOME, CI: 'true', ...TRUST, ...settings }
  const { stdout, stderr } = await execute(program, parameters, { cwd, env, maxBuffer: 2 ** 24 })
  return stdout + stderr
}

const git = async (...parameters: string[]) => (await execute('git', parameters, { cwd: clone })).stdout.trim()
const release = (...parameters: string[]) => run('npm', ['run', 'release', '--', '--tested', ...parameters], clone)

/** Returns what a release that fails has printed. */
const failure = (...parameters: string[]): Promise<string> =>
  release(...parameters).then(
    (output) => `It did not fail:\n${output}`,
    ({ stdout, stderr }) => stdout + stderr,
  )

/** Returns the versions that the registry has of each package. */
async function published(): Promise<string[]> {
  const versions = names.map(async (name) => {
    const response = await fetch(`${registry.url}@plant-store%2f${name}`)
    if (response.status === 404) return []
    const found = (await response.json()) as { versions: Record<string, unknown> }
    return Object.keys(found.versions).map((version) => `${name} ${version}`)
  })
  return (await Promise.all(versions)).flat()
}

async function commit(file: string, text: string): Promise<void> {
  await writeFile(path.join(clone, file), text)
  await git('add', '.')
  await git('commit', '--quiet', '--message', 'feat: a change')
}

const changeset = (name: string, type: string) => `---\n"@plant-store/${name}": ${type}\n---\n\nPlants can be tall.\n`

beforeAll(async () => {
  registry = await startRegistry(path.join(folder, 'registry'))
  const origin = path.join(folder, 'origin.git')
  await execute('git', ['clone', '--quiet', root, clone])
  await git('checkout', '--quiet', '-B', 'main')
  await git('clone', '--quiet', '--bare', clone, origin)
  await git('remote', 'set-url', 'origin', origin)
  await git('config', 'user.name', 'Alice')
  await git('config', 'user.email', 'alice@example.com')
  await writeFile(path.join(clone, '.npmrc'), registry.settings)
  await writeFile(path.join(clone, '.git/info/exclude'), '.npmrc\n')
}, INSTALL_TIMEOUT)
afterAll(() => registry.close())

describe('a release', { timeout: TIMEOUT }, () => {
  test('is rejected with changes, with changesets, and of a commit that is not on main of origin', async () => {
    await writeFile(path.join(clone, 'notes.txt'), 'unfinished')
    expect(await failure()).toContain('Commit or remove these changes first:\n?? notes.txt')
    await git('clean', '--quiet', '--force')
    await commit('.changeset/tall-plants.md', changeset('prisma', 'minor'))
    expect(await failure()).toContain('This commit is not on main of origin')
    await git('push', '--quiet', 'origin', 'main')
    expect(await failure()).toContain('tall-plants.md waits')
    await git('reset', '--quiet', '--hard', 'HEAD~1')
    await git('push', '--quiet', '--force', 'origin', 'main')
  })

  test('as a dry run changes nothing', async () => {
    const output = await release('--dry-run')
    for (const name of names) expect(output).toContain(`Would publish @plant-store/${name}@1.0.0`)
    expect(await published()).toEqual([])
    expect([await git('status', '--porcelain'), await git('ls-remote', '--tags', 'origin')]).toEqual(['', ''])
  })

  test('publishes every package and tags the commit; then there is nothing to release', async () => {
    await release('--from', packed)
    expect(await published()).toEqual(names.map((name) => `${name} 1.0.0`))
    const head = await git('rev-parse', 'HEAD')
    const tags = (await git('ls-remote', '--tags', 'origin')).split('\n').map((line) => line.split('\t'))
    expect(tags).toEqual([...names].sort().map((name) => [head, `refs/tags/@plant-store/${name}@1.0.0`]))
    expect(await failure('--from', packed)).toContain('Nothing to release: every version is published.')
  })

  test('that failed midway publishes what is missing, with the tag on the same commit', async () => {
    await run('npm', ['unpublish', '--force', '@plant-store/client'], clone)
    await commit('notes.txt', 'later')
    await git('push', '--quiet', 'origin', 'main')
    expect(await failure('--from', packed)).toContain('The tag @plant-store/client@1.0.0 is another commit')
    await git('checkout', '--quiet', 'HEAD~1')
    const output = await release('--from', packed)
    expect(output.match(/^Published .*$/gm)).toEqual(['Published @plant-store/client@1.0.0'])
    await git('checkout', '--quiet', 'main')
  })

  test('is rejected if a published package has changed without a changeset', async () => {
    await commit('contract/src/errors.ts', `${await readFile(`${root}contract/src/errors.ts`, 'utf8')}\n// A change.\n`)
    await git('push', '--quiet', 'origin', 'main')
    expect(await failure('--from', packed)).toContain('@plant-store/contract@1.0.0 is published, and has changed.')
  })

  test('gives a package and what depends on it versions of their own, each with its changelog in the tarball', async () => {
    await commit('.changeset/tall-plants.md', changeset('prisma', 'minor'))
    await commit('.changeset/exact.md', changeset('client', 'major'))
    await commit('.changeset/sizes.md', changeset('contract', 'minor'))
    await run('npm', ['run', 'release', '--', '--version'], clone)
    const read = async (name: string) => JSON.parse(await readFile(path.join(clone, name, 'package.json'), 'utf8'))
    const versions = await Promise.all(names.map(async (name) => (await read(name)).version))
    expect(versions).toEqual(['1.1.0', '1.1.0', '1.0.1', '2.0.0'])
    const released = JSON.parse(await readFile(path.join(clone, 'contract/released.json'), 'utf8'))
    expect(released).toMatchObject({ info: { version: '1.1.0' }, paths: { '/plants': {} } })
    expect(await readFile(path.join(clone, 'client/CHANGELOG.md'), 'utf8')).toMatch(
      /^# @plant-store\/client\n\n## 2\.0\.0\n\n### Major Changes\n\n- .*Plants can be tall\.\n\n## 1\.0\.0\n/,
    )
    expect(await git('grep', '--fixed-strings', "const VERSION = '2.0.0'", '--', 'client/src')).not.toBe('')
    await git('checkout', '--quiet', '.')
    await git('clean', '--quiet', '--force')
  })
})

/** Lists the files of a tarball with their permissions. */
function listFiles(name: string): { file: string; mode: string }[] {
  const tarball = path.join(packed, `plant-store-${name}.tgz`)
  const lines = execFileSync('tar', ['-tvzf', tarball], { encoding: 'utf8' }).trim().split('\n')
  return lines.map((line) => ({ file: line.replace(/^.* package\//, ''), mode: line.slice(0, '-rwxr-xr-x'.length) }))
}

const tracked = (cwd: string, ...paths: string[]) =>
  execFileSync('git', ['ls-files', ...paths], { cwd: root + cwd, encoding: 'utf8' })
    .trim()
    .split('\n')

describe.each(names)('the packed %s', (name) => {
  test('has the fields of a public package, and none of the workspace', () => {
    const tarball = path.join(packed, `plant-store-${name}.tgz`)
    const manifest = JSON.parse(execFileSync('tar', ['-xzOf', tarball, 'package/package.json'], { encoding: 'utf8' }))
    const fields = {
      license: 'MIT',
      author: 'Plant Store maintainers',
      engines: {},
      publishConfig: { access: 'public' },
    }
    expect(manifest).toMatchObject(fields)
    expect(manifest.keywords.length).toBeGreaterThan(2)
    for (const field of ['private', 'scripts', 'devDependencies']) expect(manifest).not.toHaveProperty(field)
    // Where its sources are, only CI knows; nothing names a registry or a host.
    expect(JSON.stringify(manifest)).not.toMatch(/workspace:|@plant-store\/source|https?:/)
    for (const [dependency, range] of Object.entries(manifest.dependencies ?? {})) {
      if (dependency.startsWith('@plant-store/')) expect(range).toBe('1.0.0')
    }
    expect(manifest.dependencies ?? {}).not.toHaveProperty('swagger-ui-dist')
  })

  test('has what it was built to, a README, a changelog and the license, and no leftovers', () => {
    const files = listFiles(name).map(({ file }) => file)
    expect(files).toEqual(expect.arrayContaining(['package.json', 'README.md', 'CHANGELOG.md', 'LICENSE']))
    const leftOver = /(^|\/)(test|bench|scripts|generator|node_modules)\/|tsbuildinfo|\.env/
    expect(files.filter((file) => leftOver.test(file))).toEqual([])
    // A map is of use only with its source.
    if (!files.some((file) => file.startsWith('src/')))
      expect(files.filter((each) => each.endsWith('.map'))).toEqual([])
  })
})

test.each(names)(
  '%s cannot be published from its folder, and npm says how to release',
  { timeout: TIMEOUT },
  (name) => {
    // No registry listens there, and nothing gets as far as asking one. The log level may be that of `npm run --silent`.
    const registryOptions = ['--registry=http://127.0.0.1:9', '--//127.0.0.1:9/:_authToken=none', '--fetch-retries=0']
    const options = [...registryOptions, '--loglevel=error']
    const publish = (...parameters: string[]) =>
      spawnSync('npm', ['publish', ...parameters, ...options], { cwd: root + name, encoding: 'utf8' })
    const { status, stdout, stderr } = publish()
    expect([status === 0, stdout + stderr]).toEqual([false, expect.stringContaining('Run npm run release')])
    expect(publish('--ignore-scripts', '--force').stderr).toContain('EPRIVATE')
  },
)

test('the packed server has an executable command and the files of the page; prisma the migrations', () => {
  const files = listFiles('server')
  expect(files.find(({ file }) => file === 'dist/main.js')?.mode).toBe('-rwxr-xr-x')
  const page = tracked('server/src/docs/page', '.').map((file) => `dist/docs/page/${file}`)
  const swagger = ['swagger-ui.css', 'swagger-ui-bundle.js', 'LICENSE'].map((file) => `dist/docs/swagger-ui/${file}`)
  expect(page.length).toBeGreaterThan(2)
  expect(files.map(({ file }) => file)).toEqual(expect.arrayContaining([...page, ...swagger]))
  const migrations = tracked('prisma', 'migrations', 'postgresql/migrations')
  expect(listFiles('prisma').map(({ file }) => file)).toEqual(expect.arrayContaining(migrations))
})

test('in CI, a package says where its sources are', async () => {
  const hook = `import { hooks } from './.pnpmfile.mjs'
    console.log(JSON.stringify(hooks.beforePacking({ name: '@plant-store/client', scripts: {} })))`
  const settings = { GITHUB_SERVER_URL: 'https://example.com', GITHUB_REPOSITORY: 'alice/plants' }
  expect(JSON.parse(await run('node', ['--input-type=module', '--eval', hook], root, settings))).toEqual({
    name: '@plant-store/client',
    repository: { type: 'git', url: 'git+https://example.com/alice/plants.git', directory: 'client' },
    homepage: 'https://example.com/alice/plants#readme',
    bugs: 'https://example.com/alice/plants/issues',
  })
})

// As server/README.md says, where FOLDER has what `npm run pack -- FOLDER` makes.
const tarballs = ['contract', 'prisma', 'server'].map((name) => `FOLDER/plant-store-${name}.tgz`).join(' ')
describe.each([
  ['npm 11 on Node.js 24', 'node-24', 'npm-11', 'npm install @plant-store/server'],
  ['pnpm on Node.js 24', 'node-24', 'npm-12', 'pnpm add @plant-store/server'],
  ['npm 12 on Node.js 26 from tarballs', 'node-26', 'npm-12', `npm install ${tarballs}`],
])('installed without a compiler, with %s', (name, node, npm, command) => {
  const machine = bareMachine(node, npm)
  noteAbsence(name, machine)
  const app = path.join(folder, `app with ${name}`)
  // With the settings of npm that a new user has.
  const settings = { PATH: String(machine), HOME: temporaryFolder() }
  let output: string
  beforeAll(async () => {
    await mkdir(app)
    await writeFile(path.join(app, 'package.json'), '{ "private": true, "type": "module" }')
    const fromTarballs = command.includes('FOLDER')
    if (!fromTarballs) await writeFile(path.join(app, '.npmrc'), registry.settings)
    const line = `${command} ${fromTarballs ? 'FOLDER/plant-store-client.tgz' : '@plant-store/client'}`
      .replace(/^pnpm/, `node ${root}scripts/pnpm.mjs`)
      .replaceAll('FOLDER', packed)
    if (machine) output = await run('sh', ['-c', line], app, settings)
  }, INSTALL_TIMEOUT)

  test.skipIf(!machine)('warns of nothing, has one SQLite and no analytics', async () => {
    expect(await readFile(`${root}server/README.md`, 'utf8')).toContain(command)
    expect(output).not.toMatch(/warn|engine|deprecated|peer|ERESOLVE|[1-9] vulnerab|script|build/i)
    const files = await readdir(path.join(app, 'node_modules'), { recursive: true })
    expect(files.filter((file) => /@scarf|swagger-ui-dist|@prisma.engines/.test(file))).toEqual([])
    // pnpm links to a package from several places.
    const found = files.filter((file) => /(?<!types.)better-sqlite3.package\.json$/.test(file))
    expect(new Set(found.map((file) => realpathSync(path.join(app, 'node_modules', file))))).toHaveProperty('size', 1)
  })

  test.skipIf(!machine)(
    'the server runs in the current folder, and the SDK calls it',
    { timeout: TIMEOUT },
    async () => {
      await writeFile(path.join(app, '.env'), 'PORT=0\nNODE_ENV=production\nDATABASE_URL=file:./plants.db\n')
      const options = { cwd: app, env: settings }
      await using server = await startProgram(['npx', '--no', 'plant-store', 'serve'], /"msg":"ready"/, options)
      const [, url] = /"url":"([^"]+)"/.exec(server.output()) ?? []
      expect(existsSync(path.join(app, 'plants.db'))).toBe(true)
      const [create = ''] = /npx --no plant-store token create --account \w+/.exec(server.output()) ?? []
      const [token = ''] = /pst_\w+/.exec(await run('sh', ['-c', create], app, settings)) ?? []
      const code = `
        import { createPlantStoreClient } from '@plant-store/client'
        const client = createPlantStoreClient({ baseUrl: '${url}', token: '${token}' })
        await client.createPlant({ id: 9007199254740993n, name: 'Monstera', tag: 'aroid' })
        console.log(JSON.stringify(await client.getPlants()))`
      const printed = await run('node', ['--input-type=module', '--eval', code], app, settings)
      expect(printed).toBe('[{"name":"Monstera","tag":"aroid"}]\n')
      expect((await fetch(`${url}/docs/swagger-ui-bundle.js`)).status).toBe(200)
      expect(await (await fetch(`${url}/docs`)).text()).toContain('<span>npx --no plant-store</span>')
      expect((await run('npx', ['--no', 'plant-store', '--version'], app, settings)).split('\n')).toContain('1.0.0')
    },
  )
})
