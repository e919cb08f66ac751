import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import { migrationsPending } from '../telemetry/events.ts'

/** Reports what the server does to systemd, in order. A report that cannot be sent is logged. */
export interface StateReports {
  /** Reports that requests are served. */
  ready(url: string): void
  /** Reports the shutdown; resolves when all reports have been sent. */
  stopping(): Promise<void>
}

/**
 * Sends each line that it reads with systemd's own program, since Node.js has no datagram sockets of Unix. It outlives the
 * SIGTERM that systemd sends to all processes of a service, and ends with the server.
 */
const SEND_LINES = `trap '' TERM; while IFS= read -r report; do systemd-notify "$report"; done`
/** How many times the server reports that it is alive before systemd would restart it. */
const PINGS = 3

/**
 * Reports the state of the server to systemd (`Type=notify`, see sd_notify(3)); the unit needs `NotifyAccess=all`. With
 * `WatchdogSec`, it also reports that the event loop is alive. The variables are a protocol rather than settings, and are
 * removed, since they are not meant for child processes.
 */
export function reportState(environment: NodeJS.ProcessEnv, processId: number, logger: Logger): StateReports {
  const { NOTIFY_SOCKET, PATH, WATCHDOG_USEC: watchdog, WATCHDOG_PID: watched = String(processId) } = environment
  for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) delete environment[name]
  const { send, end } = startSender({ NOTIFY_SOCKET, PATH }, logger)
  let pings: NodeJS.Timeout | undefined
  const reportMigrations = ({ length }: readonly string[]) =>
    send(`STATUS=Migrating the database (${length} pending); this can take minutes`)
  migrationsPending.subscribe(reportMigrations)
  return {
    ready(url) {
      send(`STATUS=Serving ${url}`)
      send('READY=1')
      // The unit is in microseconds.
      const interval = watched === String(processId) ? Number(watchdog) / 1_000 / PINGS : 0
      if (interval > 0) pings = setInterval(send, interval, 'WATCHDOG=1').unref()
    },
    stopping() {
      migrationsPending.unsubscribe(reportMigrations)
      clearInterval(pings)
      send('STATUS=Shutting down')
      send('STOPPING=1')
      return end()
    },
  }
}

/**
 * Starts one small process that sends all reports: starting one for each would block the server for the longer the more
 * memory it has, 60 ms with 500 MB. It does not keep the server running.
 */
function startSender(env: NodeJS.ProcessEnv, logger: Logger): { send(report: string): void; end(): Promise<void> } {
  const sender = spawn('sh', ['-c', SEND_LINES], { env, stdio: ['pipe', 'ignore', 'pipe'] })
  const warn = (reason: unknown) =>
    logger.warn(
      { reason: String(reason).trim() },
      'systemd was not notified: check systemd-notify and NotifyAccess=all',
    )
  sender.on('error', warn)
  sender.stdin.on('error', warn)
  sender.stderr.on('data', warn)
  const closed = once(sender, 'close').catch(() => {})
  sender.unref()
  for (const stream of [sender.stdin, sender.stderr]) (stream as unknown as Socket).unref()
  return {
    send: (report) => void sender.stdin.write(`${report}\n`),
    async end() {
      sender.ref()
      sender.stdin.end()
      await closed
    },
  }
}
