import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Logger } from 'pino'
import { migrationsPending } from '../telemetry/events.ts'

/** Reports what the server does to systemd. Reports are sent in order; one that cannot be sent is logged. */
export interface StateReports {
  /** Reports that requests are served. */
  ready(url: string): void
  /** Reports the shutdown; resolves when all reports have been sent. */
  stopping(): Promise<void>
}

/** How long sending a report may take, in milliseconds. */
const SEND_TIMEOUT = 10_000
/** How many times the server reports that it is alive before systemd would restart it. */
const PINGS = 3

/**
 * Reports the state of the server to systemd (`Type=notify`, see sd_notify(3)). Its program `systemd-notify` sends the
 * reports, since Node.js has no datagram sockets of Unix: the unit needs `NotifyAccess=all`. With `WatchdogSec`, the server
 * also reports that its event loop is alive. The variables are a protocol rather than settings, and are removed, since
 * they are not meant for child processes.
 */
export function reportState(environment: NodeJS.ProcessEnv, processId: number, logger: Logger): StateReports {
  const { NOTIFY_SOCKET, PATH, WATCHDOG_USEC: watchdog, WATCHDOG_PID: watched = String(processId) } = environment
  for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) delete environment[name]
  let sent = Promise.resolve()
  const send = (...assignments: string[]) => {
    sent = sent.then(() => runSystemdNotify(assignments, { NOTIFY_SOCKET, PATH }, logger))
    return sent
  }
  migrationsPending.subscribe(
    (migrations) => void send(`STATUS=Migrating the database (${migrations.length} pending); this can take minutes`),
  )
  return {
    ready(url) {
      void send('READY=1', `STATUS=Serving ${url}`)
      // The unit is in microseconds.
      const interval = watched === String(processId) ? Number(watchdog) / 1_000 / PINGS : 0
      if (interval > 0) setInterval(() => void send('WATCHDOG=1'), interval).unref()
    },
    stopping: () => send('STOPPING=1', 'STATUS=Shutting down'),
  }
}

async function runSystemdNotify(assignments: string[], env: NodeJS.ProcessEnv, logger: Logger): Promise<void> {
  try {
    await promisify(execFile)('systemd-notify', assignments, { env, timeout: SEND_TIMEOUT })
  } catch (error) {
    logger.warn({ err: error, assignments }, 'systemd was not notified: check systemd-notify and NotifyAccess=all')
  }
}
