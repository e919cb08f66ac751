import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { until } from './helpers/until.ts'

/** A run with a server of PostgreSQL, and a disk if it can mount one, that is killed. */
const RUN = `
  import { execFileSync } from 'node:child_process'
  import { mkdtempSync } from 'node:fs'
  import setup from './test/helpers/server/run-folder.ts'
  setup()
  const { startPostgresql } = await import('./test/helpers/database/postgresql.ts')
  const { folder } = await startPostgresql()
  const disk = mkdtempSync(process.env.TMPDIR + '/disk-')
  try { execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', disk], { stdio: 'ignore' }) } catch {}
  console.log([process.env.TMPDIR, process.env.PLANT_STORE_MEMORY, folder].join(' '))
  process.kill(process.pid, 'SIGKILL')
`

test.runIf(process.platform === 'linux')(
  'a run that is killed leaves neither processes nor files',
  {
    timeout: 60_000,
  },
  async () => {
    const args = ['--conditions=@plant-store/source', '--input-type=module', '--eval', RUN]
    const { stdout } = (await promisify(execFile)(process.execPath, args).catch((error) => error)) as { stdout: string }
    const folders = String(stdout.trim().split('\n').at(-1)).split(' ')
    expect(folders).toHaveLength(3)
    await until(() => !folders.some(existsSync), 30_000)
    const { stdout: processes } = await promisify(execFile)('ps', ['-A', '-o', 'args'])
    expect(processes.split('\n').filter((line) => line.includes(String(folders[2])))).toEqual([])
  },
)
