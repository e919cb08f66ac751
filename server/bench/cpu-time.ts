import { readdirSync, readFileSync } from 'node:fs'

/** Clock ticks per second in `/proc`, which Linux keeps at 100 with any timer of the kernel. */
const TICKS = 100

/**
 * Reads how much CPU time a process has used, with all its threads, user and system, in seconds; NaN without `/proc`.
 */
export function cpuTime(pid: number): number {
  const fields = readStat(pid)
  return (Number(fields?.[11]) + Number(fields?.[12])) / TICKS
}

/**
 * Reads the CPU time of a process and of all that it has started, such as the server processes of
 * PostgreSQL, in seconds. The system adds the time of those that have ended to that of the process, so the
 * sum never falls. NaN without `/proc`.
 */
export function cpuTimeWithChildren(pid: number): number {
  const fields = readStat(pid)
  if (!fields) return Number.NaN
  const ended = (Number(fields[13]) + Number(fields[14])) / TICKS
  return childrenOf(pid).reduce((sum, child) => sum + (cpuTime(child) || 0), cpuTime(pid) + ended)
}

/** Returns the processes that a process has started and that have not ended. */
export function childrenOf(pid: number): number[] {
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return processes.map(Number).filter((each) => readStat(each)?.[1] === String(pid))
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
