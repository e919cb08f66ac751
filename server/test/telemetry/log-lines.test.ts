/** What a line of the log looks like. */
import { spawn, spawnSync } from 'node:child_process'
import { openSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { until } from '../../../test/helpers/until.ts'
import { logOutput } from '../../src/telemetry/log/log-output.ts'
import { auditLogger } from '../../src/telemetry/log/logger.ts'
import { createFileLog } from '../helpers/telemetry/log-lines.ts'

test('a line has its level as a word and its time in ISO 8601', async () => {
  const { logger, lines } = await createFileLog('trace')
  for (const level of ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const) logger[level]('said')
  expect(lines().map((line) => JSON.parse(line).level)).toEqual(['trace', 'debug', 'info', 'warn', 'error', 'fatal'])
  for (const line of lines()) {
    expect(line).toMatch(/^\{"level":"\w+","time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","pid":\d+,"hostname":/)
  }
})

test.each([
  ['a line feed', 'a\nb\r\nc'],
  ['Unicode line separators', 'a\u2028b\u2029c\u0085d'],
  ['control characters', 'a\u0000\u001b[31m\u007f\u009b31m'],
  ['quotes and backslashes', '"},{"\\'],
])('%s in a value stays within one line of JSON without control characters', async (_what, value) => {
  const { logger, lines } = await createFileLog('info')
  logger.info({ account: value, err: new Error(value) }, value)
  expect(lines()).toHaveLength(1)
  const [line = ''] = lines()
  expect(line).not.toMatch(/\p{Cc}/u)
  expect(JSON.parse(line)).toMatchObject({ account: value, err: { message: value }, msg: value })
})

test.each(['"é\n'.repeat(100_000), '植'.repeat(3_000)])('a long value is cut', async (long) => {
  const { logger, lines } = await createFileLog('info')
  logger.info({ err: Object.assign(new Error(long), { detail: long }) }, 'failed')
  const [line = '', ...others] = lines()
  expect(others).toEqual([])
  expect(Buffer.byteLength(line)).toBeLessThan(16 * 1024)
  expect(JSON.parse(line)).toMatchObject({ msg: 'failed', err: { detail: `${long.slice(0, 1_000)}...` } })
})

test('LOG_LEVEL does not hide audit events, unless it is silent', async () => {
  for (const level of ['fatal', 'error', 'warn', 'info', 'silent']) {
    const { logger, lines } = await createFileLog(level)
    auditLogger(logger).info('audited')
    const expected = level === 'silent' ? [] : [{ level: 'info', msg: 'audited' }]
    expect(
      lines().map((line) => JSON.parse(line)),
      level,
    ).toMatchObject(expected)
  }
})

test('a line that a full disk has cut does not spoil the next one', () => {
  const file = path.join(temporaryFolder(), 'log')
  const module = fileURLToPath(new URL('../../dist/telemetry/log/log-output.js', import.meta.url))
  // A file larger than the limit of a process fails like a full disk.
  const code = `
    import { openSync, readFileSync, truncateSync } from 'node:fs'
    import { logOutput } from ${JSON.stringify(module)}
    process.on('SIGXFSZ', () => {})
    const file = ${JSON.stringify(file)}
    const { write, flush } = logOutput(openSync(file, 'a'))
    for (let count = 0; count < 5; count++) write(JSON.stringify({ text: 'x'.repeat(2_000) }) + '\\n')
    await flush()
    truncateSync(file, 1_000)
    write('{"text":"next"}\\n')
    await flush()
    process.stdout.write(readFileSync(file, 'utf8'))`
  const shell = 'ulimit -f 8 && exec "$0" --input-type=module --eval "$1"'
  const { stdout, stderr } = spawnSync('sh', ['-c', shell, process.execPath, code])
  expect(String(stderr)).toBe('')
  expect(String(stdout).split('\n').slice(1)).toEqual(['{"text":"next"}', ''])
})

test('lines are written in their order, after the turn of the event loop, and at the end of the process', async () => {
  const file = path.join(temporaryFolder(), 'log')
  const { write } = logOutput(openSync(file, 'a'))
  const lines = [5_000, 0, 100, 20_000].map((length, index) => `{"index":${index},"text":"${'x'.repeat(length)}"}\n`)
  for (const line of lines) write(line)
  await until(() => readFileSync(file, 'utf8') !== '')
  expect(readFileSync(file, 'utf8')).toBe(lines.join(''))

  const module = fileURLToPath(new URL('../../dist/telemetry/log/logger.js', import.meta.url))
  const code = `
    import { createLogger } from ${JSON.stringify(module)}
    const logger = await createLogger('info', 1)
    logger.info('last')
    process.exit()`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', code])
  expect(String(stdout)).toMatch(/^\{.*"msg":"last"\}\n$/)
})

// On other systems, `script` takes other arguments.
test.skipIf(process.platform !== 'linux')('a terminal shows lines for people, without control characters', async () => {
  const module = fileURLToPath(new URL('../../dist/telemetry/log/logger.js', import.meta.url))
  const code = `
    import { createLogger } from ${JSON.stringify(module)}
    const value = 'a\\u001b[2Jb\\u009b31mc\\u0007\\rd'
    const logger = await createLogger('info', 1)
    logger.error({ err: new Error(value), account: value }, value)
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
  expect(output).toContain('Error: a\\u001b[2Jb\\u009b31mc\\u0007\\u000dd')
  expect(output.replaceAll(/\r?\n/g, '')).not.toMatch(/\p{Cc}/u)
})
