import { totalmem } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { getHeapStatistics } from 'node:v8'
import { contract, errorCatalogue } from '@plant-store/contract'
import { type DatabaseState, storageFaults } from '@plant-store/prisma'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Dependencies } from './dependencies.ts'
import { readVersion } from './installation.ts'
import type { Settings } from './settings.ts'
import * as events from './telemetry/events.ts'

/** The metrics of this process, in Prometheus text format. */
export type Metrics = ReturnType<typeof createMetrics>

/** What the metrics read. */
interface MetricSources {
  dependencies: Dependencies
  settings: Settings
  isReady(): Promise<boolean>
  openConnections(): number
}

type Labels = Record<string, string>
/** A value, or values by their labels. */
type Reading = number | undefined | readonly [labels: Labels, value: number][]

/** The buckets that OpenTelemetry recommends for HTTP requests, in seconds. */
const DURATION_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const BATCH_BUCKETS = [1, 2, 5, 10, 20, 50, 100, 200, 500]
/** A write that fails for another reason than storage, which is a 500. */
const INTERNAL = 'internal'
const codes = Object.values(errorCatalogue).map(({ code }) => String(code))
const operations = Object.values(contract)
const METHODS = new Set<string>(['HEAD', 'OPTIONS', ...operations.map(({ method }) => method)])
/** How long a value may take, in milliseconds: longer than `/readyz`, shorter than Prometheus waits. */
const TIMEOUT = 3_000
const POOL = { db_client_connection_pool_name: 'plant-store' }

/**
 * Starts counting events. Every counter of an enumeration begins with 0: the first event is then an increase, which a rule
 * can see. No label has a value that a client chooses.
 */
export function createMetrics(sources: MetricSources) {
  const { dependencies, settings } = sources
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })

  /** Adds a counter with one label, and returns what counts. */
  function addCounter(name: string, help: string, label: string, values: readonly string[]) {
    const counter = new Counter({ name, help, labelNames: [label], registers })
    for (const value of values) counter.inc({ [label]: value }, 0)
    return (value: string, count = 1) => counter.inc({ [label]: value }, count)
  }

  const rejected = addCounter(
    'plant_store_rejected_total',
    'Requests and connections that were rejected without being handled.',
    'reason',
    events.rejections,
  )
  const unauthenticated = addCounter(
    'plant_store_authentication_failures_total',
    'Requests without a valid token, by the number of their Error body.',
    'code',
    codes.filter((code) => code.startsWith('401')),
  )
  const notWritten = addCounter('plant_store_writes_rejected_total', 'New plants that could not be stored.', 'reason', [
    ...storageFaults,
    INTERNAL,
  ])
  const batches = new Histogram({
    name: 'plant_store_batch_size',
    help: 'New plants per commit.',
    buckets: BATCH_BUCKETS,
    registers,
  })
  const retries = new Counter({
    name: 'plant_store_busy_retries_total',
    help: 'Statements retried because the database was locked or did not respond.',
    registers,
  })

  const unsubscribes = [
    ...measureRequests(registry, settings.publicUrl?.startsWith('https:') ? 'https' : 'http'),
    events.subscribe(events.requestRejected, (reason) => rejected(reason)),
    events.subscribe(events.authenticationFailed, ({ code }) => unauthenticated(String(code))),
    events.subscribe(events.batchCommitted, (size) => batches.observe(size)),
    events.subscribe(events.busyRetried, () => retries.inc()),
    events.subscribe(events.writesRejected, ({ count, error }) =>
      notWritten(dependencies.database.failure(error)?.fault ?? INTERNAL, count),
    ),
  ]
  addGauges(registry, sources)

  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    close(): void {
      for (const unsubscribe of unsubscribes) unsubscribe()
      registry.clear()
    },
  }
}

/**
 * Measures requests, by the names and labels of OpenTelemetry's semantic conventions for HTTP servers. Every operation has a
 * series for each status that the contract declares from the beginning.
 *
 * @param scheme that of the URLs that clients use: this process itself never sees TLS
 * @returns functions that stop measuring
 */
function measureRequests(registry: Registry, scheme: string): (() => void)[] {
  const labelsOf = (method: string) => ({ http_request_method: method, url_scheme: scheme })
  const durations = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Duration of a request until its response is sent or its client disconnects.',
    labelNames: ['http_request_method', 'url_scheme', 'http_route', 'http_response_status_code', 'error_type'],
    buckets: DURATION_BUCKETS,
    registers: [registry],
  })
  // Labels are looked up at a scrape, and once for each series: a request costs a few lookups in maps.
  const active = new Map<string, number>()
  new Gauge({
    name: 'http_server_active_requests',
    help: 'Requests whose response is not sent yet.',
    labelNames: ['http_request_method', 'url_scheme'],
    registers: [registry],
    collect() {
      for (const [method, count] of active) this.set(labelsOf(method), count)
    },
  })
  function addActive(method: string, change: number): void {
    active.set(method, (active.get(method) ?? 0) + change)
  }

  const series = new Map<string, Histogram.Internal<string>>()
  function findSeries(method: string, route: string | undefined, status: number): Histogram.Internal<string> {
    const key = `${status} ${method} ${route}`
    const found = series.get(key) ?? durations.labels({ ...labelsOf(method), ...resultLabels(route, status) })
    series.set(key, found)
    return found
  }

  for (const { method, path, responses } of operations) {
    addActive(method, 0)
    for (const status of Object.keys(responses).map(Number)) {
      durations.zero({ ...labelsOf(method), ...resultLabels(path, status) })
    }
  }
  return [
    events.subscribe(events.requestBegan, (method) => addActive(toLabel(method), 1)),
    events.subscribe(events.requestEnded, ({ request: { method, route }, status, seconds }) => {
      addActive(toLabel(method), -1)
      findSeries(toLabel(method), route?.path, status).observe(seconds)
    }),
  ]
}

/** A client may send any method. */
function toLabel(method: string): string {
  return METHODS.has(method) ? method : '_OTHER'
}

/** A label that does not apply is empty, which is the same as absent in Prometheus. */
function resultLabels(route = '', status: number): Record<string, string | number> {
  const disconnected = status === events.CLIENT_CLOSED_REQUEST
  return {
    http_route: route,
    http_response_status_code: disconnected ? '' : status,
    error_type: disconnected ? 'client_disconnected' : status >= 500 ? status : '',
  }
}

/** Adds what is read at each scrape. A value that cannot be read in time is left out: a scrape never fails. */
function addGauges(registry: Registry, { dependencies, settings, ...sources }: MetricSources): void {
  const { database, loadShedding, bodyMemory, responseMemory, plants } = dependencies
  const { engine, connections: pool } = database
  const registers = [registry]

  function add(name: string, help: string, read: () => Reading | Promise<Reading>, ...labelNames: string[]): void {
    async function collect(this: Gauge): Promise<void> {
      const reading = await inTime(read)
      if (reading === undefined) this.remove()
      else if (typeof reading === 'number') this.set(reading)
      else for (const [labels, value] of reading) this.set(labels, value)
    }
    new Gauge({ name, help, labelNames, registers, collect })
  }

  const stateOf = (key: keyof DatabaseState) => async () => (await database.state())[key]

  const build = { version: readVersion(), node_version: process.versions.node, engine }
  add('plant_store_build_info', 'What runs: always 1.', () => [[build, 1]], ...Object.keys(build))
  // The gauges are read in this order: the pool first, before the scrape itself uses a connection.
  if (pool) {
    const states = () => Object.entries({ used: pool().used, idle: pool().idle })
    const count = () =>
      states().map(([state, value]): [Labels, number] => [{ ...POOL, db_client_connection_state: state }, value])
    const names = Object.keys(POOL)
    const maxHelp = 'Most connections to PostgreSQL: connection_limit of DATABASE_URL.'
    const pendingHelp = 'Statements waiting for a connection to PostgreSQL.'
    add('db_client_connection_count', 'Connections to PostgreSQL.', count, ...names, 'db_client_connection_state')
    add('db_client_connection_max', maxHelp, () => [[POOL, pool().max]], ...names)
    add('db_client_connection_pending_requests', pendingHelp, () => [[POOL, pool().waiting]], ...names)
  }

  // A limit is a metric of its own, so that a rule can compare what is in use with it.
  const isReady = async () => Number((await inTime(sources.isReady)) ?? false)
  add('plant_store_ready', '1 while /readyz responds 200, otherwise 0.', isReady)
  add('plant_store_open_connections', 'Open connections of clients.', sources.openConnections)
  add('plant_store_open_connections_limit', 'MAX_CONNECTIONS.', () => settings.maxConnections)
  add('plant_store_requests_in_flight', 'Requests that the process works on.', loadShedding.inFlight)
  add('plant_store_requests_in_flight_limit', 'MAX_REQUESTS_IN_FLIGHT.', () => settings.maxRequestsInFlight)
  add('plant_store_request_body_memory_bytes', 'Memory of request bodies until they are parsed.', bodyMemory.used)
  add('plant_store_request_body_memory_limit_bytes', 'MAX_BODY_MEMORY.', () => settings.maxBodyMemory)
  add('plant_store_response_memory_bytes', 'Memory of responses waiting to be read.', responseMemory.used)
  add('plant_store_response_memory_limit_bytes', 'MAX_RESPONSE_MEMORY.', () => settings.maxResponseMemory)
  add('plant_store_memory_limit_bytes', 'What the machine or the container has for the process.', memoryLimit)
  add('plant_store_heap_limit_bytes', 'Largest heap of Node.js.', () => getHeapStatistics().heap_size_limit)
  add('plant_store_waiting_writes', 'New plants waiting for a commit.', plants.waitingWrites)

  const backupHelp = 'When the last backup that succeeded ended; 0: none.'
  add('plant_store_database_size_bytes', 'Size of the database, without the write-ahead log.', stateOf('size'))
  add('plant_store_last_backup_timestamp_seconds', backupHelp, stateOf('lastBackup'))
  if (engine === 'sqlite') {
    add('plant_store_wal_bytes', 'Size of the write-ahead log of SQLite.', stateOf('logSize'))
    add('plant_store_disk_free_bytes', "Free space on the database's disk.", stateOf('freeSpace'))
  } else {
    addArchiveFailures(registry, stateOf('archiveFailures'))
  }
}

function addArchiveFailures(registry: Registry, read: () => Promise<number | undefined>): void {
  new Counter({
    name: 'plant_store_archive_failures_total',
    help: 'How often PostgreSQL could not archive its write-ahead log.',
    registers: [registry],
    async collect() {
      const failures = await inTime(read)
      this.reset()
      if (failures === undefined) this.remove()
      else this.inc(failures)
    },
  })
}

/** Reads a value; undefined if that fails or takes too long. */
async function inTime<Result>(read: () => Result | Promise<Result>): Promise<Result | undefined> {
  try {
    return await Promise.race([read(), sleep(TIMEOUT, undefined, { ref: false })])
  } catch {
    return undefined
  }
}

function memoryLimit(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
}
