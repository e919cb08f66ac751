import { readdirSync, readFileSync } from 'node:fs'

/** Clock ticks per second in `/proc`, which Linux keeps at 100 whatever the timer of the kernel. */
const TICKS = 100

/** Reads how much CPU time a process has used, with all its threads, user and system, in seconds; NaN without `/proc`. */
export function cpuTime(pid: number): number {
  const fields = readStat(pid)
  return (Number(fields?.[11]) + Number(fields?.[12])) / TICKS
}

/** Reads the CPU time of the processes that a process has started and not ended, such as those of PostgreSQL. */
export function cpuTimeOfChildren(pid: number): number {
  const children = readdirSync('/proc').filter(
    (name) => /^\d+$/.test(name) && readStat(Number(name))?.[1] === String(pid),
  )
  return children.reduce((sum, child) => sum + (cpuTime(Number(child)) || 0), 0)
}

/** Returns the fields of `/proc/PID/stat` after the name, which may contain spaces: state, parent, ... */
function readStat(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}
