import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { migrationsPending } from '../telemetry/events.ts'

/** Reports what the server does to systemd, in order. A report that cannot be sent is logged. */
export interface StateReports {
  /** Reports that requests are served. */
  ready(url: string): void
  /** Reports the shutdown. */
  stopping(): void
  /** Resolves when all reports have been sent, or two seconds after {@link stopping}. */
  close(): Promise<void>
}

/**
 * Sends each line that it reads with systemd's own program, since Node.js has no datagram sockets of Unix, and then prints
 * an empty line. It outlives the signals that systemd sends to all processes of a service, and ends with the server.
 */
const SEND_LINES = `
trap '' TERM HUP INT QUIT USR1 USR2
while IFS= read -r report; do systemd-notify "$report"; echo || exit; done`
/** How many times the server reports that it is alive before systemd would restart it. */
const PINGS = 3
/** After how long a process that has ended is started again, in milliseconds. */
const RESTART_DELAY = 1_000
/** How long a shutdown waits for systemd to read the reports, in milliseconds; systemd-notify waits five seconds for each. */
const CLOSE_TIMEOUT = 2_000

/**
 * Reports the state of the server to systemd (`Type=notify`, see sd_notify(3)); the unit needs `NotifyAccess=all`. With
 * `WatchdogSec`, it also reports that the event loop is alive. The variables are a protocol rather than settings, and are
 * removed, since they are not meant for child processes.
 */
export function reportState(environment: NodeJS.ProcessEnv, processId: number, logger: Logger): StateReports {
  const { NOTIFY_SOCKET, PATH, WATCHDOG_USEC: watchdog, WATCHDOG_PID: watched = String(processId) } = environment
  for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) delete environment[name]
  const { send, isIdle, end, close } = startSender({ NOTIFY_SOCKET, PATH }, logger)
  let pings: NodeJS.Timeout | undefined
  const reportMigrations = ({ length }: readonly string[]) =>
    send(`STATUS=Migrating the database (${length} pending); this can take minutes`)
  migrationsPending.subscribe(reportMigrations)

  /** Any other report says the same, and while systemd reads none, they would become more and more. */
  function ping(): void {
    if (isIdle()) send('WATCHDOG=1')
  }

  return {
    ready(url) {
      send(`STATUS=Serving ${url}`)
      send('READY=1')
      // The unit is in microseconds.
      const interval = watched === String(processId) ? Number(watchdog) / 1_000 / PINGS : 0
      if (interval > 0) pings = setInterval(ping, interval).unref()
    },
    stopping() {
      migrationsPending.unsubscribe(reportMigrations)
      clearInterval(pings)
      send('STATUS=Shutting down')
      send('STOPPING=1')
      end()
    },
    close,
  }
}

/** Sends reports, one after the other. */
interface Sender {
  send(report: string): void
  /** Whether all reports have been sent. */
  isIdle(): boolean
  /** Ends it after the reports so far. */
  end(): void
  /** Waits for its end, for a limited time. */
  close(): Promise<void>
}

/**
 * Starts one small process that sends all reports: starting one for each would block the server for the longer the more
 * memory it has, 60 ms with 500 MB. It does not keep the server running. If it ends, another one sends what is left.
 */
function startSender(env: NodeJS.ProcessEnv, logger: Logger): Sender {
  const waiting: string[] = []
  let sender: ChildProcess | undefined
  let closed: Promise<void> = Promise.resolve()
  let restart: NodeJS.Timeout | undefined
  let endedAt: number | undefined
  start()

  function warn(reason: unknown): void {
    logger.warn(
      { reason: String(reason).trim() },
      'systemd was not notified: check systemd-notify and NotifyAccess=all',
    )
  }

  function start(): void {
    clearTimeout(restart)
    // Its process group is killed with it: it may be waiting for systemd-notify.
    const child: ChildProcess = spawn('sh', ['-c', SEND_LINES], { env, detached: true })
    sender = child
    child.stdout?.on('data', (lines: Buffer) => void waiting.splice(0, lines.length))
    child.stderr?.on('data', warn)
    // Its end is reported below.
    child.stdin?.on('error', () => {})
    child.unref()
    for (const stream of [child.stdin, child.stdout, child.stderr]) (stream as Socket | undefined)?.unref()
    for (const report of waiting) child.stdin?.write(`${report}\n`)
    closed = once(child, 'close').then(() => restartLater('the process that sends reports has ended'), restartLater)
  }

  function restartLater(reason: unknown): void {
    sender = undefined
    if (endedAt !== undefined && waiting.length === 0) return
    warn(reason)
    if (endedAt === undefined) restart = setTimeout(start, RESTART_DELAY).unref()
  }

  return {
    send(report) {
      waiting.push(report)
      sender?.stdin?.write(`${report}\n`)
    },
    isIdle: () => waiting.length === 0,
    end() {
      endedAt = performance.now()
      if (!sender) start()
      sender?.stdin?.end()
    },
    async close() {
      const left = CLOSE_TIMEOUT - (performance.now() - (endedAt ?? 0))
      const waited = new AbortController()
      await Promise.race([closed, sleep(Math.max(0, left), undefined, waited)])
      waited.abort()
      if (!sender) return
      warn(`systemd has not read the reports within ${CLOSE_TIMEOUT / 1_000} seconds`)
      killGroup(sender)
    },
  }
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // It has just ended.
  }
}
