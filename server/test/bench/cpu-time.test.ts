import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { childrenOf, cpuTime, cpuTimeWithChildren } from '../../bench/cpu-time.ts'

/** Uses 0.3 seconds of CPU time, however long that takes. */
const BUSY = `while (process.cpuUsage().user < 300_000);`
/** Does so in a process of its own, then says so and waits. */
const PARENT = `
  require('node:child_process').spawnSync(process.execPath, ['-e', '${BUSY}'])
  console.log('ended')
  setInterval(() => {}, 1000)`

test.skipIf(!existsSync('/proc/self/stat'))(
  'the CPU time of a process that has ended counts for its parent',
  async () => {
    const parent = spawn(process.execPath, ['-e', PARENT], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void parent.kill())
    await once(parent.stdout, 'data')
    const pid = Number(parent.pid)
    expect(childrenOf(process.pid)).toContain(pid)
    expect(childrenOf(pid)).toEqual([])
    // Both are read in hundredths of a second.
    expect(cpuTimeWithChildren(pid) - cpuTime(pid)).toBeGreaterThan(0.25)
  },
)
