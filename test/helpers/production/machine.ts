import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { requireInCi, whyImpossible } from '../long-tests.ts'
import { root, runToSuccess, startProgram, until } from '../programs.ts'
import { temporaryFolder } from '../temporary.ts'
import { isInstalled } from './guide.ts'

/** A machine of its own: this one's programs, with another file system on top, other processes and another network. */
export type Machine = Awaited<ReturnType<typeof startMachine>>

/** Removes the control groups of a machine. */
const REMOVE_GROUPS = `
mount -t cgroup2 cgroup2 /sys/fs/cgroup
groups="/sys/fs/cgroup$(sed --quiet s/^0:://p /proc/self/cgroup)/$1"
if [ -d "$groups" ]; then find "$groups" -depth -type d -delete; fi
`

const NAMESPACES = ['--mount', '--pid', '--net', '--uts', '--ipc']
const ISOLATED = ['unshare', ...NAMESPACES, '--fork', '--kill-child']

/**
 * Returns why no machine can be started here; undefined if one can.
 *
 * @throws Error in CI, if none can
 */
export function whyNoMachine(programs: readonly string[]): string | undefined {
  const missing = ['unshare', 'nsenter', ...programs].filter((program) => !isInstalled(program))
  if (missing.length > 0) return `${missing.join(', ')}: not installed`
  const mount = [...ISOLATED.slice(1), 'mount', '-t', 'cgroup2', 'cgroup2', '/sys/fs/cgroup']
  const reason = whyImpossible('A machine of its own', () => execFileSync('unshare', mount, { stdio: 'pipe' }))
  requireInCi('The right to start a machine', !reason)
  return reason
}

/** Starts a machine with the archives of a folder, and waits until systemd has started. */
export async function startMachine(files: string) {
  const folder = temporaryFolder()
  const boot = ['bash', `${root}test/helpers/production/boot-machine.sh`, folder, process.execPath, root, files]
  const outside = await startProgram([...ISOLATED, ...boot], /^booting$/m)
  const firstProcess = readFileSync(`/proc/${outside.pid}/task/${outside.pid}/children`, 'utf8').trim()
  /** Runs commands as root until one fails, and returns what they print. */
  const run = async (script: string): Promise<string> => {
    const env = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root' }
    const inside = ['nsenter', '--target', firstProcess, ...NAMESPACES, '--cgroup', '--root', '--wd']
    try {
      return await runToSuccess([...inside, 'bash', '--norc', '-euc', script], { env })
    } catch (error) {
      // What systemd says of a unit is in its journal only.
      if (script.includes('systemctl')) (error as Error).message += await run('journalctl --no-pager --lines=40')
      throw error
    }
  }
  /** Ends all its processes; nothing that they have written remains. */
  const remove = async () => {
    // The kernel kills all others with the first one, and waits for their end.
    process.kill(Number(firstProcess), 'SIGKILL')
    await outside.closed
    execFileSync('unshare', ['--mount', 'bash', '-euc', REMOVE_GROUPS, 'remove', path.basename(folder)])
  }
  const isRunning = 'systemctl is-system-running --wait || test "$(systemctl is-system-running)" = degraded'
  try {
    await until(() => run(isRunning).then(Boolean, () => false))
  } catch (error) {
    await remove()
    throw error
  }
  return { run, remove }
}
