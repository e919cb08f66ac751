/** Runs `npm start` and `npm test` in a fresh clone, as a newcomer does. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { appendFile, readFile, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { bareMachine, TRUST } from './helpers/bare-machine.ts'
import { startProgram } from './helpers/programs.ts'
import { temporaryFolder } from './helpers/temporary.ts'

const run = promisify(execFile)
const repository = fileURLToPath(new URL('../', import.meta.url))
vi.setConfig({ testTimeout: 1_200_000 })

/** Runs `npm start` until the server is ready, does something, and ends it as a service manager does. Returns its output. */
async function start(use = async (_output: string) => {}): Promise<string> {
  const begin = performance.now()
  const program = await startProgram(['npm', 'start'], /"msg":"ready"/, { cwd: clone, env, timeout: 600_000 })
  console.log(`npm start took ${((performance.now() - begin) / 1000).toFixed(1)} s.`)
  try {
    await use(program.output())
  } finally {
    // The signal reaches npm alone.
    process.kill(program.pid, 'SIGTERM')
    await program.closed
  }
  return program.output()
}

/** The scripts that a page names and that only check or generate. */
const CHECKING = ['lint', 'unused', 'typecheck', 'format', 'generate', 'sbom', 'prisma -- validate']
/** Those that other tests run. */
const TESTED = ['setup', 'dev', 'studio', 'plant-store', 'deploy', 'pack', 'pack-client', 'changeset']
/** `audit` asks the registry, and `bench` takes long. */
const UNTESTED = ['audit', 'bench']

test('a test runs every script that a page names', async () => {
  const { stdout } = await run('git', ['grep', '-ohE', 'npm run (--silent )?[a-z][a-z-]*', '--', '*.md'])
  const named = new Set([...stdout.matchAll(/ ([a-z-]+)$/gm)].map(([, name]) => name))
  expect([...named].sort()).toEqual([...CHECKING, ...TESTED, ...UNTESTED].map((script) => script.split(' ')[0]).sort())
})

// The oldest Node.js, next to which the set-up installs a newer one. Vite does not support `#`, `?` and `%` in a path.
const machine = bareMachine('node-18', 'npm-10')
const clone = path.join(temporaryFolder(), "apps, of course/it's plänts")
// Nothing of the tests' own, and with a home of its own, nothing in a cache.
const env = { PATH: machine, HOME: temporaryFolder(), PORT: '0', ...TRUST }

describe.runIf(machine)('in a fresh clone, without a compiler', () => {
  beforeAll(async () => {
    await run('git', ['clone', '--quiet', repository, clone])
    // As companies have it: npm runs no hooks, neither of packages nor of ours.
    writeFileSync(path.join(env.HOME, '.npmrc'), 'ignore-scripts=true\n')
  })

  const npm = (...parameters: string[]) => run('npm', parameters, { cwd: clone, env })

  test('npm start serves, the printed lines create and list a plant; the next prints none', async () => {
    const first = await start(async (output) => {
      const [create = '', list = ''] = output.match(/^ {2}curl .*$/gm) ?? []
      expect((await run('sh', ['-c', create])).stdout).toBe('{"name":"Monstera deliciosa","tag":"aroid"}')
      expect((await run('sh', ['-c', list])).stdout).toBe('[{"name":"Monstera deliciosa","tag":"aroid"}]')
    })
    expect(first).toContain('"msg":"closing"')
    expect(await start()).not.toMatch(/curl|install|lockfile|prisma /i)
  })

  test('npm start serves what a change has made of the code', async () => {
    const source = `${clone}/server/src/commands/serve.ts`
    const text = await readFile(source, 'utf8')
    await writeFile(source, text.replace("'closing'", "'closing, changed'"))
    expect(await start()).toContain('"msg":"closing, changed"')
    await run('git', ['checkout', '--quiet', '.'], { cwd: clone })
  })

  test('npm test checks the code and runs the tests', async () => {
    const { stdout } = await npm('test', '--', 'contract/test/openapi.test.ts')
    expect(stdout).toMatch(/Tests .*\d+ passed/)
  })

  test.each(CHECKING)('npm run %s finds nothing and changes nothing', async (script) => {
    await npm('run', ...script.split(' '))
    expect((await run('git', ['status', '--porcelain'], { cwd: clone })).stdout).toBe('')
  })

  test('set-up does nothing twice, and does again what a change has made stale', async () => {
    const setUp = () => npm('run', '--silent', 'setup')
    const written = async () => (await stat(`${clone}/prisma/src/generated/sqlite/client.ts`)).mtimeMs
    const first = await written()
    expect(await setUp()).toEqual({ stdout: '', stderr: '' })
    expect(await written()).toBe(first)
    for (const file of ['prisma/schema.prisma', 'contract/src/plants.ts'])
      await appendFile(`${clone}/${file}`, '\n// A change.\n')
    await rm(`${clone}/client/node_modules`, { recursive: true })
    expect(await setUp()).toEqual({ stdout: '', stderr: expect.stringMatching(/Done in.*\nBuilding: /s) })
    expect(await written()).toBeGreaterThan(first)
    await run('git', ['checkout', '--quiet', '.'], { cwd: clone })
  })

  test('npm run pack-client needs no set-up before', async () => {
    await run('git', ['clean', '-fdxq'], { cwd: clone })
    await npm('run', 'pack-client')
    expect((await run('tar', ['-tzf', 'plant-store-client.tgz'], { cwd: clone })).stdout).toContain('package/dist/esm/')
  })
})
