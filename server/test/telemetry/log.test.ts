/** What a line of the log looks like, and where lines go. */
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { expect, test } from 'vitest'
import { built } from '../../../test/helpers/server/built.ts'
import { temporaryFolder } from '../../../test/helpers/temporary.ts'
import { auditLogger } from '../../src/telemetry/log.ts'
import { createMemoryLog } from '../helpers/telemetry/log-lines.ts'

const module = JSON.stringify(built('server/dist/telemetry/log.js'))

test.each(['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const)(
  'a line is JSON, with its level (%s) as a word and its time in ISO 8601, whatever its values are',
  async (level) => {
    const { logger, written } = await createMemoryLog('trace')
    const value = 'a\nb\r\n\u001b[31m\u0000"},{"\\\u2028'
    logger[level]({ account: value, err: new Error(value) }, value)
    expect(written()).toMatch(/^\{"level":"\w+","time":"[\d-]{10}T[\d:]{8}\.\d{3}Z","pid":\d+,"hostname":/)
    expect(JSON.parse(written())).toMatchObject({ level, account: value, err: { message: value }, msg: value })
  },
)

test('LOG_LEVEL does not hide audit events, unless it is silent', async () => {
  for (const level of ['fatal', 'error', 'warn', 'info', 'silent']) {
    const { logger, lines } = await createMemoryLog(level)
    auditLogger(logger).info('audited')
    expect(lines(), level).toHaveLength(level === 'silent' ? 0 : 1)
  }
})

test('a disk that was full gets the lines that it did not take', () => {
  const file = path.join(temporaryFolder(), 'log')
  // A file larger than the limit of a process fails like a full disk.
  const code = `
    import { truncateSync } from 'node:fs'
    import { createLog } from ${module}
    process.on('SIGXFSZ', () => {})
    const { logger, flush } = await createLog('info', process.stdout)
    for (let count = 0; count < 3; count++) {
      logger.info({ text: 'x'.repeat(2_000) })
      await flush()
    }
    truncateSync(${JSON.stringify(file)}, 0)
    logger.info('next')
    while (!(await flush()));`
  const shell = 'ulimit -f 8; "$0" --input-type=module --eval "$1" >>"$2"; cat "$2"'
  const { stdout, stderr } = spawnSync('sh', ['-c', shell, process.execPath, code, file])
  expect(String(stderr)).toBe('')
  // The first line is what did not fit of the one that it has in part.
  const [part = '', ...lines] = String(stdout).trimEnd().split('\n')
  expect([part, ...lines.map((line) => JSON.parse(line).msg ?? 'text')]).toEqual([part, 'text', 'next'])
})
