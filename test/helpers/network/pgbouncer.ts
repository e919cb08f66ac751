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

/** That of the guide, with two connections to each database of the PostgreSQL on this machine, and without passwords. */
export const CONFIGURATION = codeBlock(readGuide('several-machines/README.md'), 'Connections', 0, 'ini')
  .replace('plants = host=10.0.0.20', '* = host=10.0.0.20 user=postgres')
  .replace('scram-sha-256', 'any')
  .replace('pool_size = 16', 'pool_size = 2')
  .replace(/^(auth_file|query_wait_timeout) .*$/gm, '')

/**
 * Starts PgBouncer until the test ends, and returns the beginning of its URL.
 *
 * @param port that of PostgreSQL
 * @param configuration for the addresses of the guide
 */
export async function startPgbouncer(port: number, configuration = CONFIGURATION): Promise<string> {
  const folder = temporaryFolder()
  chmodSync(folder, 0o755)
  const ownPort = await freePort()
  const file = path.join(folder, 'pgbouncer.ini')
  const local = configuration
    .replace('host=10.0.0.20', `host=127.0.0.1 port=${port}`)
    .replace('10.0.0.20', '127.0.0.1\nunix_socket_dir =')
    .replace('6432', String(ownPort))
  writeFileSync(file, local)
  const program = await startProgram([PROGRAM, file], /process up/, postgresqlUser)
  onTestFinished(() => void program.stop('SIGKILL'))
  return `postgresql://postgres@127.0.0.1:${ownPort}`
}
