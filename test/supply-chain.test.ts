import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test, vi } from 'vitest'
import { temporaryFolder } from './helpers/temporary-folder.ts'

vi.setConfig({ testTimeout: 60_000 })

/** Runs a script of the root's package.json to its end. */
function runScript(name: string) {
  const cwd = fileURLToPath(new URL('../', import.meta.url))
  return spawnSync('npm', ['run', '--silent', name], { cwd, encoding: 'utf8', maxBuffer: 64 * 2 ** 20 })
}

test('no dependency has a known vulnerability', ({ skip }) => {
  const { status, stdout, stderr } = runScript('audit')
  if (/ERR_PNPM_AUDIT_(BAD_RESPONSE|ENDPOINT_NOT_EXISTS)/.test(stdout + stderr)) {
    console.log('The audit is skipped: this registry does not support it.')
    skip()
  }
  expect(stdout + stderr).toContain('No known vulnerabilities found')
  expect(status).toBe(0)
})

test('the SBOM lists the dependencies of the server, also one that is copied, and none that only tests need', () => {
  const { stdout } = runScript('sbom')
  const { bomFormat, components } = JSON.parse(stdout.slice(stdout.indexOf('{')))
  expect(bomFormat).toBe('CycloneDX')
  const names = components.map(({ group, name }: { group?: string; name: string }) =>
    group ? `${group}/${name}` : name,
  )
  expect(names).toEqual(expect.arrayContaining(['express', 'better-sqlite3', 'swagger-ui-dist', '@ts-rest/core']))
  expect(names).not.toContain('vitest')
})

/** Copies the scripts to a folder, and returns a function that runs pnpm there. */
function copyScripts() {
  const folder = temporaryFolder()
  cpSync(fileURLToPath(new URL('../scripts', import.meta.url)), path.join(folder, 'scripts'), { recursive: true })
  const run = () => spawnSync(process.execPath, ['scripts/pnpm.mjs', '--version'], { cwd: folder, encoding: 'utf8' })
  return { folder, run, lockfile: path.join(folder, 'scripts/pnpm/package-lock.json') }
}

test('pnpm is installed as its lockfile says, without install scripts', () => {
  const { folder, run, lockfile } = copyScripts()
  const { version } = JSON.parse(readFileSync(lockfile, 'utf8')).packages['node_modules/pnpm']
  expect(run()).toMatchObject({ status: 0, stdout: `${version}\n` })
  // Its install script would replace the script with the binary.
  const installed = path.join(folder, 'node_modules/.cache/pnpm/node_modules/pnpm/pnpm')
  expect(readFileSync(installed).length).toBeLessThan(10_000)
})

// npm only ignores a binary that it cannot install, and pnpm would download one.
test.runIf(process.platform === 'linux').each(['pnpm', `@pnpm/exe.linux-${process.arch}`])(
  'pnpm is rejected with another integrity of %s',
  (name) => {
    const { run, lockfile } = copyScripts()
    const { integrity } = JSON.parse(readFileSync(lockfile, 'utf8')).packages[`node_modules/${name}`]
    writeFileSync(lockfile, readFileSync(lockfile, 'utf8').replace(integrity, `sha512-${'A'.repeat(86)}==`))
    for (const { status, stderr } of [run(), run()]) {
      expect(stderr).toMatch(/^npm cannot install .* as scripts\/pnpm names it/)
      expect(status).toBe(1)
    }
  },
)
