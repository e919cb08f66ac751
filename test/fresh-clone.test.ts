/** Runs the README's two commands in a fresh clone, as a newcomer does. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { isLong } from './helpers/long-tests.ts'
import { temporaryFolder } from './helpers/temporary-folder.ts'

const run = promisify(execFile)
const repository = fileURLToPath(new URL('../', import.meta.url))
const MINUTES = 60_000

// The copy does not run the long tests, so it makes no copy of its own.
if (!isLong) console.log('The README commands are not run in a fresh clone: set PLANT_STORE_LONG_TESTS=1 for that.')

/** Returns the environment of a newcomer: nothing of the tests' own. */
function newcomer(): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env
  return { PATH, HOME, PORT: '0' }
}

async function startUntilReady(folder: string): Promise<{ output: string; seconds: number; end(): Promise<void> }> {
  const begin = performance.now()
  // In its own process group, so that npm and all its children receive the signal.
  const child: ChildProcess = spawn('npm', ['start'], { cwd: folder, env: newcomer(), detached: true })
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
    async end() {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
      await closed
    },
  }
}

describe.runIf(isLong)('in a fresh clone', () => {
  let clone: string
  beforeAll(async () => {
    clone = path.join(temporaryFolder(), 'plant-store')
    await run('git', ['clone', '--quiet', repository, clone])
  })

  test(
    'npm start serves, and the printed lines create and list a plant; a second start is fast and prints none',
    async () => {
      const first = await startUntilReady(clone)
      try {
        const [create = '', list = ''] = first.output.match(/^ {2}curl .*$/gm) ?? []
        expect((await run('sh', ['-c', create])).stdout).toBe('{"name":"Monstera deliciosa","tag":"aroid"}')
        expect((await run('sh', ['-c', list])).stdout).toBe('[{"name":"Monstera deliciosa","tag":"aroid"}]')
      } finally {
        await first.end()
      }
      const second = await startUntilReady(clone)
      await second.end()
      expect(second.output).not.toContain('curl')
      expect(second.output).not.toMatch(/install|lockfile|prisma/i)
      console.log(`npm start took ${first.seconds.toFixed(1)} s, and the second time ${second.seconds.toFixed(1)} s`)
    },
    20 * MINUTES,
  )

  test(
    'set-up does nothing twice, and does again what a change has made stale',
    async () => {
      const written = async () => (await stat(`${clone}/prisma/src/generated/sqlite/client.ts`)).mtimeMs
      const setUp = () => run('npm', ['run', '--silent', 'setup'], { cwd: clone, env: newcomer() })
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
        env: newcomer(),
        maxBuffer: 2 ** 26,
      })
      expect(stdout).toMatch(/Tests .*passed/)
      expect((await run('git', ['status', '--porcelain'], { cwd: clone })).stdout).toBe('')
    },
    20 * MINUTES,
  )
})
