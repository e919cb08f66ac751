import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { postgresqlUser } from '../database/postgresql.ts'
import { requireInCi } from '../long-tests.ts'
import { freePort, startProgram } from '../programs.ts'
import { temporaryFolder } from '../temporary.ts'

const PROGRAM = '/usr/sbin/pgbouncer'

/** Whether PgBouncer is installed. */
export const hasPgbouncer = existsSync(PROGRAM)
requireInCi('PgBouncer', hasPgbouncer)

/** With two connections to each database of the PostgreSQL on this machine. */
const CONFIGURATION = `
[databases]
* = host=10.0.0.20 user=postgres
[pgbouncer]
listen_addr = 10.0.0.20
listen_port = 6432
pool_mode = transaction
auth_type = any
default_pool_size = 2
server_login_retry = 1`

/**
 * Starts PgBouncer until the test ends, and returns the beginning of its URL.
 *
 * @param port that of PostgreSQL
 * @param configuration for the addresses of the guide
 * @param users its `userlist.txt`
 */
export async function startPgbouncer(port: number, configuration = CONFIGURATION, users = ''): Promise<string> {
  const folder = temporaryFolder()
  chmodSync(folder, 0o755)
  const ownPort = await freePort()
  const file = path.join(folder, 'pgbouncer.ini')
  const list = path.join(folder, 'userlist.txt')
  writeFileSync(list, users)
  const local = configuration
    .replace('host=10.0.0.20', `host=127.0.0.1 port=${port}`)
    .replace('10.0.0.20', '127.0.0.1\nunix_socket_dir =')
    .replace('6432', String(ownPort))
    .replace('/etc/pgbouncer/userlist.txt', list)
  writeFileSync(file, local)
  const program = await startProgram([PROGRAM, file], /process up/, postgresqlUser)
  onTestFinished(() => void program.stop('SIGKILL'))
  return `postgresql://postgres@127.0.0.1:${ownPort}`
}
