/** What the registry says of the dependencies, and what is installed of it. */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { root } from './helpers/programs.ts'
import { temporaryFolder } from './helpers/temporary.ts'

const run = (program: string, ...parameters: string[]) =>
  spawnSync(program, parameters, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 })

test('no dependency has a known vulnerability', ({ skip }) => {
  const { status, stdout, stderr } = run('npm', 'run', '--silent', 'audit')
  if (/ERR_PNPM_AUDIT_(BAD_RESPONSE|ENDPOINT_NOT_EXISTS)/.test(stdout + stderr)) {
    console.log('This registry does not support `npm run audit`, which is not tested.')
    skip()
  }
  expect(stdout + stderr).toContain('No known vulnerabilities found')
  expect(status).toBe(0)
})

test('the SBOM lists the dependencies of the server, also one that is copied, and none that only tests need', () => {
  const { stdout } = run('npm', 'run', '--silent', 'sbom')
  const { components } = JSON.parse(stdout.slice(stdout.indexOf('{')))
  const names = components.map(({ group, name }: Record<string, string>) => (group ? `${group}/${name}` : name))
  expect(names).toEqual(expect.arrayContaining(['express', 'swagger-ui-dist', '@ts-rest/core']))
  expect(names).not.toContain('vitest')
})

// npm only ignores a binary that it cannot install, and pnpm would download one.
test.runIf(process.platform === 'linux').each(['pnpm', `@pnpm/exe.linux-${process.arch}`])(
  'pnpm is rejected with another integrity of %s',
  (name) => {
    const folder = temporaryFolder()
    cpSync(`${root}scripts`, path.join(folder, 'scripts'), { recursive: true })
    const lockfile = path.join(folder, 'scripts/pnpm/package-lock.json')
    const text = readFileSync(lockfile, 'utf8')
    const { integrity } = JSON.parse(text).packages[`node_modules/${name}`]
    writeFileSync(lockfile, text.replace(integrity, `sha512-${'A'.repeat(86)}==`))
    const { status, stderr } = spawnSync(process.execPath, ['scripts/pnpm.mjs'], { cwd: folder, encoding: 'utf8' })
    expect([stderr, status]).toEqual([expect.stringMatching(/^npm cannot install .* as scripts\/pnpm names it/), 1])
    expect(existsSync(path.join(folder, 'node_modules/.cache/pnpm'))).toBe(false)
  },
)
