import { contract, errorCatalogue } from '@plant-store/contract'
import { storageFaults } from '@plant-store/prisma'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import * as events from '../events.ts'
import { addGauges, type MetricSources } from './gauges.ts'

/** The metrics of this process, in Prometheus text format. */
export type Metrics = ReturnType<typeof createMetrics>

/** The buckets that OpenTelemetry recommends for HTTP requests, in seconds. */
const DURATION_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const BATCH_BUCKETS = [1, 2, 5, 10, 20, 50, 100, 200, 500]
/** A write that fails for another reason than storage, which is a 500. */
const INTERNAL = 'internal'
const codes = Object.values(errorCatalogue).map(({ code }) => String(code))
const operations = Object.values(contract)
const METHODS = new Set<string>(['HEAD', 'OPTIONS', ...operations.map(({ method }) => method)])

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
