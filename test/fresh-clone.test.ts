/** Runs `npm start` and `npm test` in a fresh clone, as a newcomer does. */
import { execFile } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { appendFile, readFile, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { bareMachine, TRUST } from './helpers/bare-machine.ts'
import { noteAbsence } from './helpers/runtimes.ts'
import { startProgram } from './helpers/start-program.ts'
import { temporaryFolder } from './helpers/temporary-folder.ts'

const run = promisify(execFile)
const repository = fileURLToPath(new URL('../', import.meta.url))
vi.setConfig({ testTimeout: 1_200_000 })

/** Runs `npm start` until the server is ready, does something, and ends it as a service manager does. Returns its output. */
async function start(cwd: string, env: NodeJS.ProcessEnv, use: (output: string) => Promise<void>): Promise<string> {
  const begin = performance.now()
  const program = await startProgram(['npm', 'start'], /"msg":"ready"/, { cwd, env, timeout: 600_000 })
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

/** The machines of newcomers, with the versions of Node.js and npm as the runtimes name them. */
describe.each([
  ['Node.js 18', 'node-18', 'npm-10'],
  ['Node.js 24', 'node-24', 'npm-12'],
])('in a fresh clone on a machine with %s, without a compiler', (name, node, npm) => {
  const machine = bareMachine(node, npm)
  noteAbsence(name, machine)
  // Vite, which runs the tests, does not support such a path.
  const clone = path.join(temporaryFolder(), node === 'node-24' ? "C# apps/100% sure?/it's plänts" : 'plant-store')
  // Nothing of the tests' own, and with a home of its own, nothing in a cache.
  const env = { PATH: machine, HOME: temporaryFolder(), PORT: '0', ...TRUST }
  // As companies have it: npm runs no hooks, neither of packages nor of ours.
  if (node === 'node-24') writeFileSync(path.join(env.HOME, '.npmrc'), 'ignore-scripts=true\n')
  const setUp = () => run('npm', ['run', '--silent', 'setup'], { cwd: clone, env })
  beforeAll(async () => {
    await run('git', ['clone', '--quiet', repository, clone])
  })

  test.skipIf(!machine)(
    'npm start serves, the printed lines create and list a plant; the next prints none',
    async () => {
      const first = await start(clone, env, async (output) => {
        const [create = '', list = ''] = output.match(/^ {2}curl .*$/gm) ?? []
        expect((await run('sh', ['-c', create])).stdout).toBe('{"name":"Monstera deliciosa","tag":"aroid"}')
        expect((await run('sh', ['-c', list])).stdout).toBe('[{"name":"Monstera deliciosa","tag":"aroid"}]')
      })
      expect(first).toContain('"msg":"closing"')
      const second = await start(clone, env, async () => {})
      expect(second).not.toMatch(/curl|install|lockfile|prisma /i)
      expect(existsSync(path.join(clone, 'node_modules/.bin/node'))).toBe(name === 'Node.js 18')
    },
  )

  test.skipIf(!machine)('npm start serves what a change has made of the code', async () => {
    const source = `${clone}/server/src/commands/serve.ts`
    const text = await readFile(source, 'utf8')
    await writeFile(source, text.replace("'closing'", "'closing, changed'"))
    expect(await start(clone, env, async () => {})).toContain('"msg":"closing, changed"')
    await run('git', ['checkout', '--quiet', '.'], { cwd: clone })
  })

  test.skipIf(!machine).each(['prisma -- validate', 'pack-client'])(
    'npm run %s needs no set-up before',
    async (script) => {
      await run('git', ['clean', '-fdxq'], { cwd: clone })
      await run('npm', ['run', ...script.split(' ')], { cwd: clone, env })
      if (script !== 'pack-client') return
      const { stdout } = await run('tar', ['-tzf', 'plant-store-client.tgz'], { cwd: clone })
      expect(stdout).toContain('package/dist/esm/index.js')
    },
  )

  // Which Node.js the machine has makes no difference any more: one of them is enough.
  if (node === 'node-24') return

  test.skipIf(!machine)('npm test checks the code and runs the tests', async () => {
    const { stdout } = await run('npm', ['test', '--', 'contract/test/openapi.test.ts'], { cwd: clone, env })
    expect(stdout).toMatch(/Tests .*\d+ passed/)
  })

  test.skipIf(!machine).each(CHECKING)('npm run %s finds nothing and changes nothing', async (script) => {
    await run('npm', ['run', ...script.split(' ')], { cwd: clone, env })
    expect((await run('git', ['status', '--porcelain'], { cwd: clone })).stdout).toBe('')
  })

  test.skipIf(!machine)('set-up does nothing twice, and does again what a change has made stale', async () => {
    const written = async () => (await stat(`${clone}/prisma/src/generated/sqlite/client.ts`)).mtimeMs
    const first = await written()
    expect(await setUp()).toEqual({ stdout: '', stderr: '' })
    expect(await written()).toBe(first)
    await appendFile(`${clone}/prisma/schema.prisma`, '\n// A change.\n')
    await rm(`${clone}/client/node_modules`, { recursive: true })
    expect(await setUp()).toEqual({ stdout: '', stderr: expect.stringContaining('Done in') })
    expect(await written()).toBeGreaterThan(first)
    await run('git', ['checkout', '--quiet', '.'], { cwd: clone })
  })
})
