/** Runs the README's two commands in a fresh clone, as a newcomer does. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { appendFile, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { bareMachine, TRUST } from './helpers/bare-machine.ts'
import { noteAbsence } from './helpers/runtimes.ts'
import { temporaryFolder } from './helpers/temporary-folder.ts'

const run = promisify(execFile)
const repository = fileURLToPath(new URL('../', import.meta.url))
const MINUTES = 60_000

/** The machines of newcomers, with the versions of Node.js and npm as the runtimes name them. */
const machines = [
  ['Node.js 18', 'node-18', 'npm-10'],
  ['Node.js 22', 'node-22', 'npm-11'],
  ['Node.js 24', 'node-24', 'npm-12'],
] as const

/** Returns the environment of a newcomer: nothing of the tests' own, and with a home of its own, nothing in a cache. */
function newcomer(PATH: string | undefined, HOME = process.env['HOME']): NodeJS.ProcessEnv {
  return { PATH, HOME, PORT: '0', ...TRUST }
}

async function startUntilReady(
  folder: string,
  env: NodeJS.ProcessEnv,
): Promise<{ output: string; seconds: number; end(): Promise<string> }> {
  const begin = performance.now()
  const child: ChildProcess = spawn('npm', ['start'], { cwd: folder, env })
  const closed = once(child, 'close')
  let output = ''
  await new Promise<void>((resolve, reject) => {
    const collect = (text: string) => {
      output += text
      if (output.includes('"msg":"ready"')) resolve()
    }
    child.stdout?.setEncoding('utf8').on('data', collect)
    child.stderr?.setEncoding('utf8').on('data', collect)
    void closed.then(() => reject(new Error(`npm start ended:\n${output}`)))
  })
  return {
    output,
    seconds: (performance.now() - begin) / 1000,
    // The signal of a service manager reaches npm alone.
    async end() {
      child.kill('SIGTERM')
      await closed
      return output
    },
  }
}

describe.each(machines)('in a fresh clone on a machine with %s, without a compiler', (name, node, npm) => {
  const machine = bareMachine(node, npm)
  noteAbsence(name, machine)
  let clone: string
  let env: NodeJS.ProcessEnv
  beforeAll(async () => {
    clone = path.join(temporaryFolder(), 'plant-store')
    await run('git', ['clone', '--quiet', repository, clone])
    env = newcomer(machine, temporaryFolder())
  })

  test.skipIf(!machine)(
    'npm start serves, and the printed lines create and list a plant; a second start is fast and prints none',
    async () => {
      const first = await startUntilReady(clone, env)
      try {
        const [create = '', list = ''] = first.output.match(/^ {2}curl .*$/gm) ?? []
        expect((await run('sh', ['-c', create])).stdout).toBe('{"name":"Monstera deliciosa","tag":"aroid"}')
        expect((await run('sh', ['-c', list])).stdout).toBe('[{"name":"Monstera deliciosa","tag":"aroid"}]')
      } finally {
        expect(await first.end()).toContain('"msg":"closing"')
      }
      const second = await startUntilReady(clone, env)
      await second.end()
      expect(second.output).not.toContain('curl')
      expect(second.output).not.toMatch(/install|lockfile|prisma /i)
      expect(existsSync(path.join(clone, 'node_modules/.bin/node'))).toBe(name === 'Node.js 18')
      console.log(
        `${name}, empty caches: npm start took ${first.seconds.toFixed(1)} s, and the second time ${second.seconds.toFixed(1)} s`,
      )
    },
    20 * MINUTES,
  )
})

describe('in a fresh clone', () => {
  let clone: string
  let env: NodeJS.ProcessEnv
  beforeAll(async () => {
    clone = path.join(temporaryFolder(), 'plant-store')
    await run('git', ['clone', '--quiet', repository, clone])
    env = newcomer(process.env['PATH'])
    await run('npm', ['run', '--silent', 'setup'], { cwd: clone, env })
  }, 20 * MINUTES)

  test(
    'set-up does nothing twice, and does again what a change has made stale',
    async () => {
      const written = async () => (await stat(`${clone}/prisma/src/generated/sqlite/client.ts`)).mtimeMs
      const setUp = () => run('npm', ['run', '--silent', 'setup'], { cwd: clone, env })
      const first = await written()
      expect((await setUp()).stdout).toBe('')
      expect(await written()).toBe(first)
      await appendFile(`${clone}/prisma/schema.prisma`, '\n// A change.\n')
      await setUp()
      expect(await written()).toBeGreaterThan(first)
      await rm(`${clone}/client/node_modules`, { recursive: true })
      expect((await setUp()).stdout).toContain('Done in')
      await run('git', ['checkout', '--quiet', '.'], { cwd: clone })
      await setUp()
    },
    5 * MINUTES,
  )

  test(
    'npm test passes on both engines, and leaves nothing that git would see',
    async () => {
      // CI runs all tests in a clean checkout.
      const parts = ['contract/test', 'prisma/test/database', 'server/test/plants', 'client/test/service']
      const { stdout } = await run('npm', ['test', '--', ...parts], {
        cwd: clone,
        env,
        maxBuffer: 2 ** 26,
      })
      expect(stdout).toMatch(/Tests .*passed/)
      expect((await run('git', ['status', '--porcelain'], { cwd: clone })).stdout).toBe('')
    },
    20 * MINUTES,
  )
})
