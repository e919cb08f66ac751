import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { postgresqlUser } from '../database/postgresql.ts'
import { freePort } from '../free-port.ts'
import { requireInCi } from '../long-tests.ts'
import { startProgram } from '../start-program.ts'
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
  chmodSync(folder, 0o755)
  const ownPort = await freePort()
  const file = path.join(folder, 'pgbouncer.ini')
  const listen = `listen_addr = 127.0.0.1\nlisten_port = ${ownPort}\nunix_socket_dir =\nauth_type = any`
  writeFileSync(
    file,
    `[databases]\nplants = host=127.0.0.1 port=${port} user=postgres
     [pgbouncer]\n${listen}\npool_mode = transaction\ndefault_pool_size = 2`.replaceAll(/^ +/gm, ''),
  )
  const program = await startProgram([PROGRAM, file], /process up/, postgresqlUser)
  onTestFinished(() => void program.stop('SIGKILL'))
  return `postgresql://postgres@127.0.0.1:${ownPort}`
}
