import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../', import.meta.url))

describe('dependencies', () => {
  test('no dependency has a known vulnerability', { timeout: 60_000 }, async ({ skip }) => {
    const { exitCode, output } = await runScript('audit')
    if (/ERR_PNPM_AUDIT_(BAD_RESPONSE|ENDPOINT_NOT_EXISTS)/.test(output)) {
      console.log('The audit is skipped: this registry does not support it.')
      skip()
    }
    expect(output).toContain('No known vulnerabilities found')
    expect(exitCode).toBe(0)
  })

  test('the SBOM lists the dependencies of the server, and none that only tests need', {
    timeout: 60_000,
  }, async () => {
    const { output } = await runScript('sbom')
    const { bomFormat, components } = JSON.parse(output.slice(output.indexOf('{')))
    const names = components.map(({ group, name }: { group?: string; name: string }) =>
      group ? `${group}/${name}` : name,
    )
    expect(bomFormat).toBe('CycloneDX')
    expect(names).toEqual(expect.arrayContaining(['express', 'better-sqlite3', 'zod', '@ts-rest/core']))
    expect(names).not.toContain('vitest')
  })
})

/** Runs a script of the root's package.json to its end. */
function runScript(name: string): Promise<{ exitCode: number; output: string }> {
  return new Promise((resolve) => {
    const options = { cwd: root, maxBuffer: 64 * 2 ** 20 }
    execFile('npm', ['run', '--silent', name], options, (error, stdout, stderr) => {
      resolve({ exitCode: Number(error?.code ?? 0), output: stdout + (error ? stderr : '') })
    })
  })
}
