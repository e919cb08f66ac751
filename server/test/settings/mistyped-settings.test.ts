/** Warnings about variables that look like mistyped settings. */
import { beforeEach, expect, test } from 'vitest'
import { newDatabase } from '../../../test/helpers/database/databases.ts'
import { runCommand, startServerProcess } from '../../../test/helpers/server/run-command.ts'
import { readSettings } from '../../src/index.ts'
import { findMistypedSettings } from '../../src/settings/mistyped-settings.ts'
import { settingsTable } from '../../src/settings/table.ts'

let environment: { DATABASE_URL: string }
beforeEach(async () => {
  environment = { DATABASE_URL: await newDatabase() }
})

test.each([
  ['PROT', 'PORT'],
  ['HSOT', 'HOST'],
  ['port', 'PORT'],
  ['DATABSE_URL', 'DATABASE_URL'],
  ['DATABASE_ULR', 'DATABASE_URL'],
  ['DATABASEURL', 'DATABASE_URL'],
  ['LOG_LEVL', 'LOG_LEVEL'],
  ['LOG_LEVELS', 'LOG_LEVEL'],
  ['LOG-LEVEL', 'LOG_LEVEL'],
  ['NODE_EVN', 'NODE_ENV'],
  ['CORS_ORIGIN', 'CORS_ORIGINS'],
  ['MAX_CONECTIONS', 'MAX_CONNECTIONS'],
  ['BODYY_LIMIT', 'BODY_LIMIT'],
  ['ADMIN_PROT', 'ADMIN_PORT'],
])('%s resembles %s', (variable, setting) => {
  expect(findMistypedSettings({ [variable]: 'x' })).toEqual([{ variable, setting }])
  // Also if the setting is set, for example in .env.
  expect(findMistypedSettings({ [setting]: 'x', [variable]: 'x' })).toEqual([{ variable, setting }])
})

test.each(['prod', 'PRD', 'Production', 'production ', '"production"', 'prodution'])(
  'NODE_ENV=%s is noticed',
  (mode) => {
    expect(findMistypedSettings({ NODE_ENV: mode })).toEqual([
      { variable: `NODE_ENV=${mode}`, setting: 'NODE_ENV=production' },
    ])
  },
)

test.each(['production', 'development', 'test', 'staging', ''])('NODE_ENV=%s is not', (mode) => {
  expect(findMistypedSettings({ NODE_ENV: mode })).toEqual([])
})

/** What shells, npm, systemd, containers, platforms and libraries set. */
const ORDINARY = `
  PATH HOME HOSTNAME HOSTTYPE USER LOGNAME SHELL TERM LANG LC_ALL TZ PWD OLDPWD SHLVL MAIL EDITOR PAGER DISPLAY TMPDIR
  PORTS PORT0 PORT1 POST PART HOSTS GHOST COST DOC DOCKER TASK_HOST SERVICE_HOST SERVICE_PORT PLANT_STORE_PORT
  NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS NODE_NO_WARNINGS NODE_DEBUG UV_THREADPOOL_SIZE NO_COLOR FORCE_COLOR DEBUG CI
  INIT_CWD npm_config_nodedir npm_config_port npm_lifecycle_event npm_package_name npm_execpath
  LISTEN_FDS LISTEN_PID LISTEN_FDNAMES NOTIFY_SOCKET WATCHDOG_USEC WATCHDOG_PID INVOCATION_ID JOURNAL_STREAM
  SYSTEMD_EXEC_PID STATE_DIRECTORY RUNTIME_DIRECTORY CREDENTIALS_DIRECTORY MEMORY_PRESSURE_WATCH
  PGHOST PGPORT PGUSER PGPASSWORD PGDATABASE PGSSLMODE POSTGRES_PASSWORD POSTGRES_HOST DATABASE DB_URL DATABASE_URLS_FILE
  KUBERNETES_PORT KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT DYNO WEB_CONCURRENCY MEMORY_AVAILABLE container
  HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy no_proxy LOG LEVEL LOGS_DIR RATE ISSUER PUBLIC HEADERS
  OTEL_SERVICE_NAME OTEL_RESOURCE_ATTRIBUTES OTEL_LOG_LEVEL OTEL_PROPAGATORS OTEL_TRACES_SAMPLER OTEL_LOGS_EXPORTER
  OTEL_METRICS_EXPORTER OTEL_EXPORTER_OTLP_HEADERS OTEL_EXPORTER_OTLP_TIMEOUT OTEL_EXPORTER_OTLP_LOGS_ENDPOINT
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT OTEL_EXPORTER_OTLP_METRICS_PROTOCOL OTEL_EXPORTER_OTLP_LOGS_PROTOCOL
  OTEL_BSP_SCHEDULE_DELAY OTEL_BSP_EXPORT_TIMEOUT OTEL_BSP_MAX_EXPORT_BATCH_SIZE OTEL_BLRP_MAX_QUEUE_SIZE
  PLANT_STORE_LONG_TESTS PLANT_STORE_RUNTIMES PLANT_STORE_FUZZ_SEED`

test('no variable that others set resembles a setting, and no setting another one', () => {
  const names = [...ORDINARY.trim().split(/\s+/), ...Object.keys(settingsTable)]
  expect(findMistypedSettings(Object.fromEntries(names.map((name) => [name, 'x'])))).toEqual([])
})

test('serve logs a warning, and other commands print one, without the value', async () => {
  const mistyped = { ...environment, PROT: 'secret', NODE_ENV: 'prod' }
  const server = await startServerProcess(mistyped)
  expect(await server.end()).toBe(0)
  const warnings = server
    .output()
    .split('\n')
    .filter((line) => line.includes('"level":"warn"'))
  expect(warnings.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ variable: 'PROT', setting: 'PORT', msg: 'PROT is not a setting: did you mean PORT?' }),
    expect.objectContaining({ msg: 'NODE_ENV=prod is not a setting: did you mean NODE_ENV=production?' }),
  ])
  const listed = await runCommand(['token', 'list'], { ...environment, DATABSE_URL: 'postgresql://a:secret@b/c' })
  expect(listed).toMatchObject({
    exitCode: 0,
    stderr: 'plant-store: DATABSE_URL is not a setting: did you mean DATABASE_URL?\n',
  })
  for (const text of [server.output(), listed.stdout]) expect(text).not.toContain('secret')
}, 60_000)

test('invalid settings are reported together with the mistyped ones', () => {
  expect(() =>
    readSettings({ JWT_ISSUER: 'https://example.com', JWT_AUDIENC: 'a', JWT_JWKS_URL: 'https://example.com' }),
  ).toThrow(
    /^ {2}JWT_AUDIENCE must be set too, since JWT_ISSUER is\n {2}JWT_AUDIENC is not a setting: did you mean JWT_AUDIENCE\?$/m,
  )
})
