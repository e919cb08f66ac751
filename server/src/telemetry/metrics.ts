import { contract, errorCatalogue } from '@plant-store/contract'
import { type Database, StorageError, storageFaults } from '@plant-store/prisma'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client'
import { ownVersion } from '../installation.ts'
import { CLIENT_CLOSED_REQUEST, type Events, events, rejections } from './events.ts'

/** The metrics of this process, in Prometheus text format. */
export interface Metrics {
  /** The media type of the text. */
  readonly contentType: string
  /** Reads all metrics, as text. */
  text(): Promise<string>
  /** Stops counting events. */
  close(): void
}

/** What the metrics read. */
interface MetricSources {
  engine: Database['engine']
  isReady(): Promise<boolean>
  openConnections(): number
  requestsInFlight(): number
}

/** What counts each event. */
type EventListeners = { [Name in keyof Events]: (...message: Events[Name]) => void }

/** The buckets that OpenTelemetry recommends for HTTP requests, in seconds. */
const DURATION_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const BATCH_BUCKETS = [1, 10, 100, 500]
/** A write that fails for another reason than storage, which is a 500. */
const INTERNAL = 'internal'
const authenticationErrors = Object.values(errorCatalogue)
  .map(({ code }) => String(code))
  .filter((code) => code.startsWith('401'))
/** Metrics of Node.js whose reading lists all connections one by one: with 15,000, the event loop stops for 70 ms. */
const SLOW_METRICS = /^(?:nodejs_active_handles|nodejs_active_resources|process_open_fds)/
const operations = Object.values(contract)
/** How often the utilization of the event loop is sampled, in milliseconds. */
const UTILIZATION_INTERVAL = 10_000
const METHODS = new Set<string>(['HEAD', 'OPTIONS', ...operations.map(({ method }) => method)])

/**
 * Starts counting events. Every counter of an enumeration begins with 0: the first event is then an increase, which a
 * rule can see. No label has a value that a client chooses.
 */
export function createMetrics({ engine, isReady, ...sources }: MetricSources): Metrics {
  const registry = new Registry()
  const registers = [registry]
  // By default it takes ten samples a second, and after a suspended laptop wakes up, all that it has missed at once.
  collectDefaultMetrics({ register: registry, eventLoopUtilizationTimeout: UTILIZATION_INTERVAL })
  const slow = registry.getMetricsAsArray().filter(({ name }) => SLOW_METRICS.test(name))
  for (const { name } of slow) registry.removeSingleMetric(name)

  /** Adds a counter with one label. */
  function addCounter(name: string, help: string, label: string, values: readonly string[]) {
    const counter = new Counter({ name, help, labelNames: [label], registers })
    for (const value of values) counter.inc({ [label]: value }, 0)
    return counter
  }

  /** Adds what is read at each scrape. */
  function addGauge(name: string, help: string, read: () => number | Promise<number>): void {
    async function collect(this: Gauge): Promise<void> {
      this.set(await read())
    }
    new Gauge({ name, help, registers, collect })
  }

  const rejectedHelp = 'Requests and connections that were rejected without being handled.'
  const rejected = addCounter('plant_store_rejected_total', rejectedHelp, 'reason', rejections)
  const unauthenticatedHelp = 'Requests without a valid token, by the code of their Error body.'
  const unauthenticated = addCounter(
    'plant_store_authentication_failures_total',
    unauthenticatedHelp,
    'code',
    authenticationErrors,
  )
  const reasons = [...storageFaults, INTERNAL]
  const notWrittenHelp = 'New plants whose commit failed or was late.'
  const notWritten = addCounter('plant_store_writes_rejected_total', notWrittenHelp, 'reason', reasons)
  const help = 'Plants per commit.'
  const batches = new Histogram({ name: 'plant_store_batch_size', help, buckets: BATCH_BUCKETS, registers })
  // By the names of OpenTelemetry's semantic conventions for HTTP servers.
  const durations = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Duration of a request until its response is sent or its client disconnects.',
    labelNames: ['http_request_method', 'http_route', 'http_response_status_code'],
    buckets: DURATION_BUCKETS,
    registers,
  })
  // From the beginning, every operation has a series for each status that the contract declares.
  for (const { method, path, responses } of operations) {
    for (const status of Object.keys(responses)) durations.zero(labelsOf(method, path, Number(status)))
  }

  const listeners: EventListeners = {
    requestEnded({ method, context: { path, errorCode = 0 } }, status, seconds) {
      durations.observe(labelsOf(method, path, status), seconds)
      if (status === 401) unauthenticated.inc({ code: errorCode })
    },
    requestRejected: (reason) => rejected.inc({ reason }),
    batchCommitted: (size) => batches.observe(size),
    writesRejected: (count, error) =>
      notWritten.inc({ reason: error instanceof StorageError ? error.fault : INTERNAL }, count),
  }
  const names = Object.keys(listeners) as (keyof Events)[]
  for (const name of names) events.on(name, listeners[name])

  const build = { version: ownVersion, node_version: process.versions.node, engine }
  const labelNames = Object.keys(build)
  new Gauge({ name: 'plant_store_build_info', help: 'What runs: always 1.', labelNames, registers }).set(build, 1)
  addGauge('plant_store_ready', '1 while /readyz responds 200, otherwise 0.', async () => Number(await isReady()))
  addGauge('plant_store_open_connections', 'Open connections of clients.', sources.openConnections)
  addGauge('plant_store_requests_in_flight', 'Requests whose response is not sent yet.', sources.requestsInFlight)

  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    close() {
      for (const name of names) events.off(name, listeners[name])
      registry.clear()
    },
  }
}

/** A label that does not apply is empty, which is the same as absent in Prometheus. */
function labelsOf(method: string, route = '', status: number): Record<string, string | number> {
  return {
    // A client may send any method.
    http_request_method: METHODS.has(method) ? method : '_OTHER',
    http_route: route,
    http_response_status_code: status === CLIENT_CLOSED_REQUEST ? '' : status,
  }
}
