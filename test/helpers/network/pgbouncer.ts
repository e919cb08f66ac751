import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { postgresqlUser } from '../database/postgresql.ts'
import { requireInCi } from '../long-tests.ts'
import { codeBlock, readGuide } from '../production/guide.ts'
import { freePort, startProgram } from '../programs.ts'
import { temporaryFolder } from '../temporary.ts'

const PROGRAM = '/usr/sbin/pgbouncer'

/** Whether PgBouncer is installed. */
export const hasPgbouncer = existsSync(PROGRAM)
requireInCi('PgBouncer', hasPgbouncer)

/**
 * Starts PgBouncer with the configuration of the guide until the test ends, and returns the beginning of its URL. It leads to
 * every database, for any user and without a password, by two connections.
 *
 * @param port that of PostgreSQL
 */
export async function startPgbouncer(port: number): Promise<string> {
  const folder = temporaryFolder()
  chmodSync(folder, 0o755)
  const ownPort = await freePort()
  const file = path.join(folder, 'pgbouncer.ini')
  const local = codeBlock(readGuide('several-machines/README.md'), 'Connections', 0, 'ini')
    .replace('plants = host=10.0.0.20', `* = host=127.0.0.1 port=${port} user=postgres`)
    .replace('scram-sha-256', 'any')
    .replace('default_pool_size = 16', 'default_pool_size = 2')
    .replace('10.0.0.20', '127.0.0.1\nunix_socket_dir =')
    .replace('6432', String(ownPort))
  writeFileSync(file, local)
  const program = await startProgram([PROGRAM, file], /process up/, postgresqlUser)
  onTestFinished(() => void program.stop('SIGKILL'))
  return `postgresql://postgres@127.0.0.1:${ownPort}`
}
