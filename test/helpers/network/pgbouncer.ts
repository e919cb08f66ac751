import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { postgresqlUser } from '../database/postgresql.ts'
import { freePort } from '../free-port.ts'
import { requireInCi } from '../long-tests.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const PROGRAM = '/usr/sbin/pgbouncer'

/** Whether PgBouncer is installed. */
export const hasPgbouncer = existsSync(PROGRAM)
requireInCi('PgBouncer', hasPgbouncer)
if (!hasPgbouncer) console.log('PgBouncer is not tested: it is not installed (apt-get install pgbouncer)')

/**
 * Starts PgBouncer in transaction mode, with two connections to the database `plants` of the PostgreSQL on a port, until the
 * test ends. Returns the beginning of its URL.
 */
export async function startPgbouncer(port: number): Promise<string> {
  const folder = temporaryFolder()
  const ownPort = await freePort()
  const lines = [
    '[databases]',
    `plants = host=127.0.0.1 port=${port} user=postgres`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${ownPort}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    'default_pool_size = 2',
  ]
  writeFileSync(path.join(folder, 'pgbouncer.ini'), lines.join('\n'))
  chmodSync(folder, 0o755)
  const child = spawn(PROGRAM, [path.join(folder, 'pgbouncer.ini')], {
    ...postgresqlUser,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const closed = once(child, 'close')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await closed
  })
  let log = ''
  await new Promise<void>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text
      if (log.includes('process up')) resolve()
    })
    child.once('error', reject)
    void closed.then(() => reject(new Error(`PgBouncer ended:\n${log}`)))
  })
  return `postgresql://postgres@127.0.0.1:${ownPort}`
}
