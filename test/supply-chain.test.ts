import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test, vi } from 'vitest'

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

test('the SBOM lists the dependencies of the server, and none that only tests need', () => {
  const { stdout } = runScript('sbom')
  const { bomFormat, components } = JSON.parse(stdout.slice(stdout.indexOf('{')))
  expect(bomFormat).toBe('CycloneDX')
  const names = components.map(({ group, name }: { group?: string; name: string }) =>
    group ? `${group}/${name}` : name,
  )
  expect(names).toEqual(expect.arrayContaining(['express', 'better-sqlite3', 'zod', '@ts-rest/core']))
  expect(names).not.toContain('vitest')
})
