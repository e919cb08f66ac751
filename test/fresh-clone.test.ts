/** Runs `npm start` and `npm test` in a fresh clone, as a newcomer does. */
import { writeFileSync } from 'node:fs'
import { appendFile, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { bareMachine, STORE, TRUST } from './helpers/bare-machine.ts'
import { root, runProgram, runToSuccess, startProgram } from './helpers/programs.ts'
import { temporaryFolder } from './helpers/temporary.ts'

vi.setConfig({ testTimeout: 1_200_000 })

/** Runs `npm start` until the server is ready, does something, and ends it as a service manager does. Returns its output. */
async function start(use = async (_output: string) => {}): Promise<string> {
  const program = await startProgram(['npm', 'start'], /"msg":"ready"/, { cwd: clone, env, timeout: 600_000 })
  try {
    await use(program.output())
  } finally {
    // The signal reaches npm alone.
    process.kill(program.pid, 'SIGTERM')
    await program.closed
  }
  return program.output()
}

/** The scripts that a page names and that only write. */
const WRITING = ['format', 'generate', 'prisma -- validate', 'write-settings --silent --prefix server']
// The oldest Node.js, next to which the set-up installs a newer one. Vite does not support `#`, `?` and `%` in a path.
const machine = bareMachine('node-18', 'npm-10')
const clone = path.join(temporaryFolder(), "apps, of course/it's plänts")
// Nothing of the tests' own, and with a home of its own, nothing that npm has cached.
const env = { PATH: machine, HOME: temporaryFolder(), PORT: '0', ...TRUST, ...STORE }

describe.runIf(machine)('in a fresh clone, without a compiler', () => {
  beforeAll(async () => {
    await runToSuccess(['git', 'clone', '--quiet', root, clone])
    // As companies have it: npm runs no hooks, neither of packages nor of ours.
    writeFileSync(path.join(env.HOME, '.npmrc'), 'ignore-scripts=true\n')
  })

  const run = (...command: string[]) => runToSuccess(command, { cwd: clone, env })

  test('npm start serves, the printed lines create and list a plant; the next prints none', async () => {
    const first = await start(async (output) => {
      const [create = '', list = ''] = output.match(/^ {2}curl .*$/gm) ?? []
      expect(await run('sh', '-c', create)).toBe('{"name":"Monstera deliciosa","tag":"aroid"}')
      expect(await run('sh', '-c', list)).toBe('[{"name":"Monstera deliciosa","tag":"aroid"}]')
    })
    expect(first).toContain('"msg":"closing"')
    expect(await start()).not.toMatch(/curl|install|lockfile|prisma /i)
  })

  test('on Node.js 18 the server says in a sentence which versions it needs', async () => {
    const ended = await runProgram(['node', 'server/dist/main.js', 'serve'], { cwd: clone, env })
    const sentence = /^plant-store: Node\.js 18\.[.\d]+ is not supported: install a version in the range >=24\.\S+\n$/
    expect(ended).toEqual({ exitCode: 2, stdout: '', stderr: expect.stringMatching(sentence) })
  })

  test('npm test lints, looks for unused code, checks the types, and runs the tests', async () => {
    expect(await run('npm', 'test', '--', 'contract/test/openapi.test.ts')).toMatch(/Tests .*\d+ passed/)
  })

  test.each(WRITING)('npm run %s changes nothing', async (script) => {
    await run('npm', 'run', ...script.split(' '))
    expect(await run('git', 'status', '--porcelain')).toBe('')
  })

  test('set-up does nothing twice, and does again what a change has made stale', async () => {
    const setUp = () => runProgram(['npm', 'run', '--silent', 'setup'], { cwd: clone, env })
    const written = async () => (await stat(`${clone}/prisma/src/generated/sqlite/client.ts`)).mtimeMs
    const first = await written()
    expect(await setUp()).toEqual({ exitCode: 0, stdout: '', stderr: '' })
    expect(await written()).toBe(first)
    await rm(`${clone}/client/node_modules`, { recursive: true })
    expect((await setUp()).stderr).toMatch(/Done in/)
    for (const file of ['prisma/schema.prisma', 'contract/src/contract.ts'])
      await appendFile(`${clone}/${file}`, '\n// A change.\n')
    const stderr = expect.stringMatching(/Done in.*\nBuilding: /s)
    expect(await setUp()).toEqual({ exitCode: 0, stdout: '', stderr })
    expect(await written()).toBeGreaterThan(first)
    await run('git', 'checkout', '--quiet', '.')
  })
})
