/** The public packages as they are packed, and what keeps others from being published. */
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { packPackages } from '../../scripts/release/pack.mjs'
import { verifyPackage } from '../../scripts/release/verify.mjs'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const TIMEOUT = 120_000

interface PackedPackage {
  tarball: string
  manifest: Record<string, unknown> & { name: string; version: string; dependencies?: Record<string, string> }
}

/** Lists the files of a tarball with their permissions. */
function listFiles(tarball: string): { file: string; mode: string }[] {
  const lines = execFileSync('tar', ['-tvzf', tarball], { encoding: 'utf8' }).trim().split('\n')
  return lines.map((line) => ({ file: line.replace(/^.* package\//, ''), mode: line.slice(0, '-rwxr-xr-x'.length) }))
}

let packages: PackedPackage[]
beforeAll(() => {
  packages = packPackages(temporaryFolder())
}, TIMEOUT)

function find(name: string): PackedPackage {
  const found = packages.find(({ manifest }) => manifest.name === `@plant-store/${name}`)
  if (!found) throw new Error(`no package ${name}`)
  return found
}

describe.each(['contract', 'prisma', 'server', 'client'])('the packed %s', (name) => {
  test('has the fields of a public package, and none of the workspace', () => {
    const { manifest } = find(name)
    expect(manifest).toMatchObject({
      license: 'MIT',
      author: 'Plant Store maintainers',
      engines: { node: expect.any(String) },
      publishConfig: { access: 'public' },
    })
    expect((manifest['keywords'] as string[]).length).toBeGreaterThan(2)
    for (const field of ['private', 'scripts', 'devDependencies']) expect(manifest).not.toHaveProperty(field)
    expect(JSON.stringify(manifest)).not.toMatch(/workspace:|@plant-store\/source/)
    for (const [dependency, range] of Object.entries(manifest.dependencies ?? {})) {
      if (dependency.startsWith('@plant-store/')) expect(range).toBe(manifest.version)
    }
  })

  test('has what it was built to, a README and the license, and neither tests nor leftovers of the build', () => {
    const files = listFiles(find(name).tarball).map(({ file }) => file)
    expect(files).toEqual(expect.arrayContaining(['package.json', 'README.md', 'LICENSE']))
    expect(
      files.filter((file) => /(^|\/)(test|bench|scripts|generator|node_modules)\/|tsbuildinfo|\.env/.test(file)),
    ).toEqual([])
    // A map is of use only with its source.
    if (!files.some((file) => file.startsWith('src/')))
      expect(files.filter((file) => file.endsWith('.map'))).toEqual([])
  })

  test('passes what a release verifies', { timeout: TIMEOUT }, () => verifyPackage(find(name)))
})

test('the packed server has an executable command, and all files of the page with their license', () => {
  const files = listFiles(find('server').tarball)
  expect(files.find(({ file }) => file === 'dist/main.js')?.mode).toBe('-rwxr-xr-x')
  const page = execFileSync('git', ['ls-files', '.'], { cwd: `${root}server/src/docs/page`, encoding: 'utf8' })
  const expected = page
    .trim()
    .split('\n')
    .map((file) => `dist/docs/page/${file}`)
  for (const file of ['swagger-ui.css', 'swagger-ui-bundle.js', 'LICENSE'])
    expected.push(`dist/docs/swagger-ui/${file}`)
  expect(expected.length).toBeGreaterThan(5)
  expect(files.map(({ file }) => file)).toEqual(expect.arrayContaining(expected))
  expect(find('server').manifest.dependencies).not.toHaveProperty('swagger-ui-dist')
})

test('the packed prisma has the migrations of both engines', () => {
  const migrations = execFileSync('git', ['ls-files', 'migrations', 'postgresql/migrations'], {
    cwd: `${root}prisma`,
    encoding: 'utf8',
  })
  const files = listFiles(find('prisma').tarball).map(({ file }) => file)
  expect(files).toEqual(expect.arrayContaining(migrations.trim().split('\n')))
})

test('a package says where its sources are only in CI, which knows', () => {
  for (const { manifest } of packages) expect(manifest).not.toHaveProperty('repository')
  const hook = `import { hooks } from './.pnpmfile.mjs'
    console.log(JSON.stringify(hooks.beforePacking({ name: '@plant-store/client', version: '1.2.3', scripts: {} })))`
  const env = { GITHUB_SERVER_URL: 'https://example.com', GITHUB_REPOSITORY: 'alice/plants' }
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', hook], {
    cwd: root,
    env,
    encoding: 'utf8',
  })
  expect(JSON.parse(stdout)).toEqual({
    name: '@plant-store/client',
    version: '1.2.3',
    repository: { type: 'git', url: 'git+https://example.com/alice/plants.git', directory: 'client' },
    homepage: 'https://example.com/alice/plants#readme',
    bugs: 'https://example.com/alice/plants/issues',
  })
})

// No registry listens there, and nothing gets as far as asking one.
const NO_REGISTRY = 'http://127.0.0.1:9'

test.each([
  ['npm', 'server', ['publish', '--dry-run']],
  ['npm', '', ['publish']],
  [process.execPath, 'contract', [`${root}scripts/pnpm.mjs`, 'publish', '--no-git-checks']],
])(
  '%s publish in the folder "%s" fails and names the command of a release',
  { timeout: TIMEOUT },
  (program, folder, parameters) => {
    // pnpm asks the registry first, and would ask again for 70 seconds.
    const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], npm_config_fetch_retries: '0' }
    const { status, stdout, stderr } = spawnSync(program, [...parameters, `--registry=${NO_REGISTRY}`], {
      cwd: path.join(root, folder),
      env,
      encoding: 'utf8',
    })
    expect(status).not.toBe(0)
    expect(stdout + stderr).toContain('Run `npm run release`')
  },
)

// Without the script that names the command of a release.
test.each(['contract', 'prisma', 'server', 'client'])(
  'npm publish without scripts in the folder "%s" fails before it calls the registry',
  { timeout: TIMEOUT },
  (folder) => {
    const env = { PATH: process.env['PATH'], HOME: process.env['HOME'] }
    const credentials = `--${NO_REGISTRY.replace('http:', '')}/:_authToken=none`
    const parameters = ['publish', '--ignore-scripts', '--force', `--registry=${NO_REGISTRY}`, credentials]
    const { status, stderr } = spawnSync('npm', [...parameters, '--fetch-retries=0'], {
      cwd: path.join(root, folder),
      env,
      encoding: 'utf8',
    })
    expect(status).not.toBe(0)
    expect(stderr).toContain('EPRIVATE')
  },
)

test('a package.json names no registry and no host', () => {
  for (const folder of ['', 'contract/', 'prisma/', 'server/', 'client/']) {
    expect(readFileSync(`${root}${folder}package.json`, 'utf8')).not.toMatch(/https?:/)
  }
})

test('npm run pack without a folder says how to call it', () => {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/release/pack.mjs'], { cwd: root, encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 1, stderr: 'Usage: npm run pack -- FOLDER\n' })
})
