/** What a line of the log looks like, and which requests have none. */
import { spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { auditLogger } from '../../src/telemetry/log.ts'
import { createMemoryLog } from '../helpers/telemetry/log-lines.ts'

const module = fileURLToPath(new URL('../../dist/telemetry/log.js', import.meta.url))

test('a line is JSON, with its level as a word and its time in ISO 8601, whatever its values are', async () => {
  const { logger, lines } = await createMemoryLog('trace')
  const value = 'a\nb\r\n\u001b[31m\u0000"},{"\\\u2028'
  for (const level of ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const) {
    logger[level]({ account: value, err: new Error(value) }, value)
  }
  expect(lines().map((line) => JSON.parse(line).level)).toEqual(['trace', 'debug', 'info', 'warn', 'error', 'fatal'])
  for (const line of lines()) {
    expect(line).toMatch(/^\{"level":"\w+","time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","pid":\d+,"hostname":/)
    expect(JSON.parse(line)).toMatchObject({ account: value, err: { message: value }, msg: value })
  }
})

test('LOG_LEVEL does not hide audit events, unless it is silent', async () => {
  for (const level of ['fatal', 'error', 'warn', 'info', 'silent']) {
    const { logger, lines } = await createMemoryLog(level)
    auditLogger(logger).info('audited')
    expect(lines(), level).toHaveLength(level === 'silent' ? 0 : 1)
  }
})

test('a disk that was full has the lines that come after', () => {
  const file = path.join(temporaryFolder(), 'log')
  // A file larger than the limit of a process fails like a full disk.
  const code = `
    import { truncateSync } from 'node:fs'
    import { createLog } from ${JSON.stringify(module)}
    process.on('SIGXFSZ', () => {})
    const { logger, flush } = await createLog('info', process.stdout)
    for (let count = 0; count < 5; count++) {
      logger.info({ text: 'x'.repeat(2_000) })
      await flush()
    }
    truncateSync(${JSON.stringify(file)}, 0)
    logger.info('next')
    await flush()`
  const shell = 'ulimit -f 8; "$0" --input-type=module --eval "$1" >>"$2"; cat "$2"'
  const { stdout, stderr } = spawnSync('sh', ['-c', shell, process.execPath, code, file])
  expect(String(stderr)).toBe('')
  expect(String(stdout)).toMatch(/^\{.*"msg":"next"\}\n$/)
})

// On other systems, `script` takes other arguments.
test.skipIf(process.platform !== 'linux')('a terminal shows lines for people', async () => {
  const code = `
    import { createLog } from ${JSON.stringify(module)}
    const { logger } = await createLog('info', process.stdout)
    logger.info({ url: 'http://127.0.0.1' }, 'ready')`
  const file = path.join(temporaryFolder(), 'log.mjs')
  writeFileSync(file, code)
  const script = spawn('script', ['--quiet', '--command', `'${process.execPath}' '${file}'`, '/dev/null'], {
    env: { ...process.env, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  onTestFinished(() => void script.kill('SIGKILL'))
  const output = (await script.stdout.toArray()).join('')
  expect(output).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: ready \{"url":"http:.*"\}\r?$/m)
})
